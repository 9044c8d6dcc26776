using System.Security.Cryptography;
using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Takes loads for the stages whose work is a whole load, one owner at a time.</summary>
public sealed class LoadLeases(
    ILoads loads, IIngests ingests, PipelineMessages messages, IOptions<IngestOptions> options, TimeProvider time)
{
    /// <summary>
    /// Takes a load in the state that it was found in. Null: it is in another by now, or somebody has it, or had it and
    /// died. Acknowledging the message would leave the load to Sweep; it comes again when the lease has ended, and
    /// finds which.
    /// </summary>
    /// <param name="head">The load as it was found.</param>
    /// <param name="again">The message that comes again.</param>
    /// <param name="cancellationToken">Ends the work under the lease too.</param>
    /// <param name="onHeld">Told that somebody has it.</param>
    public async Task<LoadLease?> TakeAsync(
        LoadHead head, PipelineMessage again, CancellationToken cancellationToken, Action? onHeld = null)
    {
        // Of each run its own: two deliveries of one message in one process are two owners.
        var owner = NewOwner();
        if (!await ingests.TryTakeLoadAsync(head.Id, head.State, owner, options.Value.LoadLease, cancellationToken))
        {
            if (await loads.GetLoadHeadAsync(head.Id, cancellationToken) is not { } held || held.State != head.State)
                return null;
            onHeld?.Invoke();
            await messages.SendAfterLeaseAsync(again, held.LeaseExpiresAt, options.Value.LoadLease, cancellationToken);
            return null;
        }
        LoadLease? lease = null;
        try
        {
            if (await loads.GetLoadAsync(head.Id, cancellationToken) is { } load && load.State == head.State)
                lease = new LoadLease(load, owner, ingests, options.Value.LoadLease, time, cancellationToken);
            return lease;
        }
        finally
        {
            if (lease is null)
                await StageRunner.IgnoreUnavailableAsync(() => ReleaseAsync(head.Id, owner));
        }
    }

    /// <summary>Whoever goes on with it need not wait for the lease to run out.</summary>
    public Task ReleaseAsync(LoadLease lease) => ReleaseAsync(lease.Load.Id, lease.Owner);

    /// <summary>Gives it to whoever takes the message that it is gone on with by.</summary>
    public async Task HandOnAsync(LoadLease lease, PipelineMessage next)
    {
        await ReleaseAsync(lease);
        await messages.SendLoadMessageAsync(next, TimeSpan.Zero, CancellationToken.None);
    }

    /// <summary>Names this process: drawn, for machines and process ids come again.</summary>
    public static string Host { get; } = Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(8));

    /// <summary>Names the owner of leases and claims: begins with the process, so that what a dead one holds can be told.</summary>
    internal static string NewOwner() => $"{Host}-{Guid.NewGuid():N}";

    private Task ReleaseAsync(long load, string owner) => ingests.ReleaseLoadAsync(load, owner, CancellationToken.None);
}
