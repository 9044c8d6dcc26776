using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Pipeline.Recovery;

public sealed class ResumeLoad(
    IBreachDatabase database, IStoreRegister register, ArchivePasswords passwords, PipelineMessages messages, MailSchedule mails,
    UpsertCompletion upsert, IOptions<IngestOptions> options)
{
    /// <summary>Resumes a failed load, or restarts it as a new one with the current settings. Returns the load that continues.</summary>
    /// <exception cref="NotPossibleException">There is no such load, it isn't failed, or its rows are purged.</exception>
    public async Task<Load> RunAsync(LoadId load, bool restart, string? password, CancellationToken cancellationToken)
    {
        var found = await database.RequireLoadAsync(load, cancellationToken);
        if (password is not null)
            await passwords.KeepAsync(found.Blob, password, cancellationToken);
        if (restart)
        {
            var id = await register.DrawLoadAsync(cancellationToken);
            var fresh = await database.RestartLoadAsync(load, id, LoadStart.NewSettings(options.Value), cancellationToken);
            await register.ConfirmAsync(new StoreIds(fresh.Id.Value, 0), cancellationToken);
            await register.MarkOpenAsync(fresh.Id, cancellationToken);
            await messages.SendLoadMessageAsync(new IngestMessage { Load = fresh.Id.Value }, TimeSpan.Zero, cancellationToken);
            return fresh;
        }
        // A load without an ingester may have lost its message: after a restart whose response, or whose process, was lost.
        if (found.State != LoadState.Failed && !(found.State == LoadState.Ingesting && found.LeaseExpiresAt is null))
            throw new NotPossibleException($"load {load} is {found.State.ToString().ToLowerInvariant()}: only failed loads can be resumed");
        await register.MarkOpenAsync(load, cancellationToken);
        var state = await database.ResumeLoadAsync(load, cancellationToken);
        await register.MarkOpenAsync(load, cancellationToken);
        if (state == LoadState.Ingesting)
            await messages.SendLoadMessageAsync(new IngestMessage { Load = load.Value }, TimeSpan.Zero, cancellationToken);
        else if (state == LoadState.Matching)
            await messages.SendLoadMessageAsync(new MatchMessage { Load = load.Value }, TimeSpan.Zero, cancellationToken);
        else if (state == LoadState.Notifying)
            await mails.SendNextAsync(load, cancellationToken);
        var all = await database.ListSlicesAsync(load, failedOnly: false, cancellationToken);
        await messages.SendSlicesAsync([.. all.Where(slice => slice.State == SliceState.Pending)], cancellationToken);
        if (state == LoadState.Upserting)
            await upsert.TryAsync(load, cancellationToken);
        return await database.GetLoadAsync(load, cancellationToken) ?? found;
    }
}
