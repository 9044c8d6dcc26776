namespace HibpIngest.Pipeline.Recovery;

public sealed class PurgeLoad(IBreachDatabase database, JournalSchedule journal, VerifyJournal verify)
{
    // Small enough that a purge's transactions are short.
    private const int PurgeChunkRows = 50_000;

    /// <summary>Deletes a finished load's rows in chunks, and returns their number. Verifies the journal of a current load first.</summary>
    /// <param name="withoutJournal">Confirms that there is no journal, so that only the archive is left.</param>
    /// <exception cref="NotPossibleException">There is no such load, it is still open, or it isn't journaled.</exception>
    /// <exception cref="HibpException">The journal is damaged or doesn't match: nothing is purged.</exception>
    public async Task<long> RunAsync(LoadId load, bool withoutJournal, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var found = await database.RequireLoadAsync(load, cancellationToken);
        if (journal.IsOn && withoutJournal)
        {
            throw new NotPossibleException("the journal is on: purged rows must be in it, and --without-log is for a store that "
                + "has none (HIBP_JOURNAL=off)");
        }
        if (!journal.IsOn && !withoutJournal)
        {
            throw new NotPossibleException(
                $"the journal is off (HIBP_JOURNAL=off), so only its archive is left of load {load} "
                + "once its rows are deleted; if that is intended, run: hibp database purge --without-log");
        }
        if (found.State is not (LoadState.Done or LoadState.Failed))
        {
            throw new NotPossibleException(
                $"load {load} is {found.State.ToString().ToLowerInvariant()}: only a done or failed load can be purged; "
                + "wait until 'hibp status' shows it as done");
        }
        if (found is { AwaitsCalls: true, Calls.IsSearched: false })
        {
            throw new NotPossibleException(
                $"the rows of load {load} are still needed to find the clients to call: see hibp status {found.Breach}");
        }
        if (journal.IsOn && found is { PublishedAt: not null, Purged: false })
            await verify.RunAsync(load, null, cancellationToken);
        var purged = 0L;
        while (await database.PurgeRowsAsync(load, PurgeChunkRows, cancellationToken, journal.IsOn) is > 0 and var chunk)
        {
            purged += chunk;
            progress?.Report(purged);
        }
        return purged;
    }
}
