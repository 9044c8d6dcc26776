using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Pipeline.Sweeping;

/// <summary>Sends the lost messages of open loads again, and clears the marks of loads for which no message is due any more.</summary>
public sealed partial class SweepLoads(
    IBreachDatabase database, IWorkRegister register, StoreSetup setup, LostMessages lost, CallSchedule calls, LoadReports reports,
    ILogger<Sweep> log)
{
    public async Task RunAsync(IReadOnlyList<(LoadId Load, string Version)> open, CancellationToken cancellationToken)
    {
        // The messages cause marks to be written, which must be confirmed; a database restored from a backup must not be used.
        await setup.EnsureIdsAsync(cancellationToken);
        await lost.SendSlicesAsync(cancellationToken);
        foreach (var (id, version) in open)
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (await database.GetLoadAsync(id, cancellationToken) is { } found)
            {
                var load = (await calls.WithPausedAsync([found], cancellationToken))[0];
                reports.Report(load);
                if (!lost.IsSettled(load))
                {
                    await lost.SendAsync(load, cancellationToken);
                    continue;
                }
                await calls.CleanAsync(load, cancellationToken);
            }
            await register.ClearOpenAsync(id, version, cancellationToken);
        }
        if (await calls.SweepAsync(cancellationToken) is > 0 and var clients)
            LogClientsResent(clients);
    }

    [LoggerMessage(EventIds.SweepClientsResent, LogLevel.Warning, "callbacks: lost or due messages of {Clients} clients sent again")]
    private partial void LogClientsResent(int clients);
}
