using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.Recovery;

/// <summary>Brings a database that was restored from a backup, or is empty, up to date with register, journal and catalogue.</summary>
public sealed class ReconcileRestoredDatabase(
    IBreachDatabase database, IStoreRegister register, StoreSetup setup, RecoverFromJournal journal, PublishCatalogue catalogue,
    ApplySuppressions suppressions, StartLostZips lostZips)
{
    internal const string Because =
        "the database was restored from a backup, and its mails may have gone out since: hibp mail release sends it";

    /// <summary>
    /// Moves a restored database on; no host may be running. Mails that were not sent at the backup are held, the journal's loads are
    /// restored, the catalogue published since is merged in, and zips without a load are loaded again, neither published nor mailed until
    /// an operator releases them. Can be run again after an interruption, or after a repair of the journal.
    /// </summary>
    /// <param name="empty">The database is empty, and becomes that of the journal's store.</param>
    /// <exception cref="NotPossibleException">The database isn't behind and has no mails left, or is unexpectedly (not) empty.</exception>
    /// <exception cref="StoreMismatchException">Journal, database and account table are not of one store.</exception>
    public async Task<ReconciledDatabase> RunAsync(
        CancellationToken cancellationToken, bool empty = false, IProgress<(int Done, int All)>? progress = null)
    {
        if (!empty && await StoreSetup.HasSchemaAsync(database, cancellationToken))
            await suppressions.CheckKeyAsync(cancellationToken);
        var logged = await journal.ReadAsync(cancellationToken);
        if (empty)
            await journal.TakeOverAsync(logged, cancellationToken);
        else if (!await StoreSetup.HasSchemaAsync(database, cancellationToken))
        {
            throw new NotPossibleException($"database {database.DisplayName} does not exist, or is empty: there is nothing to bring up to "
                + "date; if it was lost, and the journal was not, run: hibp database restored --empty");
        }
        await setup.EnsureIdentityAsync(cancellationToken);
        var store = (await database.GetIdentityAsync(cancellationToken))!.Id;
        var plan = logged is null ? null : RecoveryPlan.Of(logged, store);
        var (confirmed, isIncomplete) = await register.GetConfirmedAsync(cancellationToken);
        var highest = await database.GetHighestIdsAsync(cancellationToken);
        var isBehind = isIncomplete || highest.Load < confirmed.Load || highest.Mark < confirmed.Mark;
        // Suppressions come before anything is sent or refused: the backup contains addresses that were forgotten since.
        var suppressed = await suppressions.RunAsync(cancellationToken);
        // The backup may be newer than the last load: mails not sent at the backup can't be distinguished from mails sent since.
        var mayMail = (await database.ListLoadsAsync(null, cancellationToken))
            .Any(load => load.State != LoadState.Done && load.HeldBecause is null);
        var isShownOlder = await catalogue.Merge.IsNewerAsync(cancellationToken);
        if (!isBehind && !isShownOlder && suppressed == 0 && !mayMail
            && (plan is null || !await journal.IsNeededAsync(plan, cancellationToken)))
        {
            string[] why = [$"database {database.DisplayName} is not behind its account table: there is nothing to bring up to date"];
            throw new NotPossibleException(string.Join("; ", [.. why, .. plan?.Problems ?? []]));
        }
        // This is recorded first: a host started during this run must not send mails, nor take a partial state for complete.
        await register.SetMovingOnAsync(true, cancellationToken);
        // This comes before anything raises the database's version, which decides whether the catalogue is newer.
        var readers = await catalogue.Merge.KeepAsync(cancellationToken);
        var hidden = new SortedSet<string>(StringComparer.OrdinalIgnoreCase);
        await database.MoveOnAsync(new StoreIds(0, 0), Because, cancellationToken);
        // Marked, because the published catalogue differs from the backup.
        var change = await catalogue.BeginChangeAsync(cancellationToken);
        var recovered = await journal.RecoverAsync(plan, isBehind, progress, MergeAsync, cancellationToken);
        var started = await lostZips.RunAsync(Because, cancellationToken);
        await MergeAsync(cancellationToken);
        var restored = await database.ListLoadsAsync(null, cancellationToken);
        foreach (var load in restored)
        {
            if (load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held) || load.AwaitsJournal || load.AwaitsCalls)
                await register.MarkOpenAsync(load.Id, cancellationToken);
        }
        // This is recorded last: until here a start is refused, so that an interruption can't go unnoticed.
        await database.MoveOnAsync(confirmed, Because, cancellationToken);
        await catalogue.Merge.ForgetAsync(cancellationToken);
        await register.SetMovingOnAsync(false, cancellationToken);
        await change.TryPublishAsync(cancellationToken);
        // The database counts messages from before the backup as in transit: Sweep would wait for them for SweepStaleAge.
        foreach (var load in restored.Where(load => load.AwaitsJournal))
            await journal.SendAsync(load.Id, cancellationToken);
        return new ReconciledDatabase(confirmed, started)
        {
            Log = plan is null && recovered is { Removed.Count: 0, Problems.Count: 0 } ? null : recovered,
            Hidden = [.. hidden.Except(recovered.Removed, StringComparer.OrdinalIgnoreCase)],
            Suppressed = suppressed,
            Missing = await register.GetReadLayoutAsync(cancellationToken) is { } read
                ? await database.CountMissingAsync(read.Id, cancellationToken) : 0,
        };

        async Task MergeAsync(CancellationToken token)
        {
            if (readers is not null)
                hidden.UnionWith(await catalogue.Merge.RunAsync(readers, token));
        }
    }
}

public sealed record ReconciledDatabase(StoreIds Ids, int Loads)
{
    /// <summary>The part restored from the journal; null if there is no journal.</summary>
    public JournalRecovered? Log { get; init; }

    /// <summary>Breaches that are hidden because readers were not shown them before the restore.</summary>
    public IReadOnlyList<string> Hidden { get; init; } = [];

    /// <summary>Number of suppressions that the backup lacked and that were applied.</summary>
    public int Suppressed { get; init; }

    /// <summary>Rows that the layout that is read lacks; those of the journal if the tables were lost too.</summary>
    public long Missing { get; init; }
}
