using System.Runtime.CompilerServices;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>What an operator can ask of the pipeline; the same for every tool.</summary>
public sealed class Operations(PipelineContext context)
{
    // Small enough that a purge never holds a transaction for long.
    private const int PurgeChunkRows = 50_000;

    /// <summary>
    /// Sends slices of a breach again: one of its newest load, or the failed ones, or all, of every load that
    /// isn't purged. Returns how many.
    /// </summary>
    /// <exception cref="NotPossibleException">No such breach or slice, or its rows are purged.</exception>
    public async Task<int> RequeueSlicesAsync(string breach, int? slice, bool failedOnly, CancellationToken cancellationToken)
    {
        var loads = await LoadsAsync(breach, cancellationToken);
        var chosen = slice is null ? [.. loads.Where(load => !load.Purged)] : (IReadOnlyList<Load>)[loads[^1]];
        if (chosen.Count == 0)
            throw new NotPossibleException($"the rows of all loads of {breach} are purged: drop the archive again to load it anew");
        var sent = 0;
        foreach (var load in chosen)
        {
            await context.Register.MarkOpenAsync(load.Id, cancellationToken); // before and after: a crash in between leaves a mark that Sweep follows
            var slices = await context.Database.RequeueSlicesAsync(load.Id, slice, failedOnly, cancellationToken);
            if (slices.Count == 0)
                continue;
            if (load.State == LoadState.Failed && (await context.Database.GetLoadAsync(load.Id, CancellationToken.None))?.Slices.Failed > 0)
                await context.Database.FailLoadAsync(load.Id, owner: null, load.Error ?? "another slice has failed", superseded: false, CancellationToken.None); // others still have to be requeued
            await context.Register.MarkOpenAsync(load.Id, cancellationToken);
            await context.SendSlicesAsync(slices, cancellationToken);
            sent += slices.Count;
        }
        return sent;
    }

    /// <summary>
    /// Carries on with a failed load; with <paramref name="restart"/> as a new load with today's settings.
    /// Returns the load that goes on.
    /// </summary>
    /// <exception cref="NotPossibleException">No such load, or it isn't failed, or its rows are purged.</exception>
    public async Task<Load> ResumeAsync(long load, bool restart, string? password, CancellationToken cancellationToken)
    {
        var found = await context.Database.GetLoadAsync(load, cancellationToken) ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
        if (password is not null)
            await PutPasswordAsync(found.Blob, password, cancellationToken);
        if (restart)
        {
            var id = await context.Register.DrawLoadAsync(cancellationToken);
            var fresh = await context.Database.RestartLoadAsync(load, id, IngestBreach.NewSettings(context.Options), cancellationToken);
            await context.Register.ConfirmAsync(new StoreIds(fresh.Id, 0), cancellationToken);
            await context.Register.MarkOpenAsync(fresh.Id, cancellationToken);
            await context.SendLoadMessageAsync(QueueNames.Ingest, new IngestMessage { Load = fresh.Id }, cancellationToken);
            return fresh;
        }
        // One that nobody ingests may have lost its message: a restart whose answer, or whose process, was lost.
        if (found.State != LoadState.Failed && !(found.State == LoadState.Ingesting && found.LeaseExpiresAt is null))
            throw new NotPossibleException($"load {load} is {found.State.ToString().ToLowerInvariant()}, only a failed load is resumed");
        await context.Register.MarkOpenAsync(load, cancellationToken);
        var state = await context.Database.ResumeLoadAsync(load, cancellationToken);
        await context.Register.MarkOpenAsync(load, cancellationToken);
        switch (state)
        {
            case LoadState.Ingesting:
                await context.SendLoadMessageAsync(QueueNames.Ingest, new IngestMessage { Load = load }, cancellationToken);
                break;
            case LoadState.Matching:
                await context.SendLoadMessageAsync(QueueNames.Match, new MatchMessage { Load = load }, cancellationToken);
                break;
            case LoadState.Notifying:
                await context.SendMailMessagesAsync(load, cancellationToken);
                break;
        }
        var pending = (await context.Database.ListSlicesAsync(load, failedOnly: false, cancellationToken)).Where(slice => slice.State == SliceState.Pending);
        await context.SendSlicesAsync([.. pending], cancellationToken);
        if (state == LoadState.Upserting)
            await context.CompleteUpsertAsync(load, cancellationToken);
        return await context.Database.GetLoadAsync(load, cancellationToken) ?? found;
    }

    /// <summary>
    /// Gives a load to another breach than its blob's name says, with what its metadata says of that one.
    /// Returns the load.
    /// </summary>
    /// <exception cref="BadInputException">The breach's name holds what it may not.</exception>
    /// <exception cref="NotPossibleException">No such load, or it is still open.</exception>
    public async Task<Load> AssignAsync(long load, string breach, CancellationToken cancellationToken)
    {
        BreachName.Check(breach);
        var found = await context.Database.GetLoadAsync(load, cancellationToken) ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
        // Read first: a document that can't be read leaves everything as it is.
        var document = (await BreachDocument.ReadAsync(context.Blobs, found.Blob.Name, breach, cancellationToken)).Document;
        await context.Database.AssignLoadAsync(load, breach, document, cancellationToken);
        return await context.Database.GetLoadAsync(load, cancellationToken) ?? found;
    }

    /// <summary>
    /// Moves a database on that was restored from a backup, no host running: what was not mailed at the backup
    /// is held, and zips that have no load any more are loaded again, held. May be run again where it was
    /// broken off. Returns the ids it moved to, and how many zips it started.
    /// </summary>
    /// <exception cref="NotPossibleException">The database is behind nothing.</exception>
    public async Task<(StoreIds Ids, int Loads)> MoveOnAsync(CancellationToken cancellationToken)
    {
        const string Because = "the database was restored from a backup, and its mails may have gone out since: hibp notify releases them";
        if (!await StoreSetup.HasSchemaAsync(context.Database, cancellationToken))
            throw new NotPossibleException($"database {context.Database.DisplayName} is not there, or is empty: there is nothing to move on");
        await new StoreSetup(context).EnsureIdentityAsync(cancellationToken);
        var (confirmed, brokenOff) = await context.Register.GetConfirmedAsync(cancellationToken);
        var highest = await context.Database.GetHighestIdsAsync(cancellationToken);
        if (!brokenOff && highest.Load >= confirmed.Load && highest.Mark >= confirmed.Mark)
            throw new NotPossibleException($"database {context.Database.DisplayName} is not behind its account table: there is nothing to move on");
        // First of all: a host that is started in between must not mail, nor take what is done by halves for the whole.
        await context.Register.SetMovingOnAsync(true, cancellationToken);
        await context.Database.MoveOnAsync(new StoreIds(0, 0), Because, cancellationToken);
        var started = 0;
        await foreach (var blob in context.Blobs.ListZipsAsync(cancellationToken))
        {
            if (await context.Database.FindLoadAsync(blob.Version, cancellationToken) is not null || await context.Register.WasRemovedAsync(blob.Version, cancellationToken))
                continue;
            var load = await new IngestBreach(context).StartAsync(blob.Version, Because, cancellationToken);
            await context.SendLoadMessageAsync(QueueNames.Ingest, new IngestMessage { Load = load.Id }, cancellationToken);
            started++;
        }
        foreach (var load in await context.Database.ListLoadsAsync(null, cancellationToken))
        {
            if (load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held))
                await context.Register.MarkOpenAsync(load.Id, cancellationToken);
        }
        // Last: until here a start is refused, so that nothing is forgotten where this was broken off.
        await context.Database.MoveOnAsync(confirmed, Because, cancellationToken);
        await context.Register.SetMovingOnAsync(false, cancellationToken);
        return (confirmed, started);
    }

    /// <summary>Keeps the password of an archive for whichever process ingests it.</summary>
    /// <exception cref="BadInputException">Without HIBP_SECRET_KEY it would not leave this process.</exception>
    public async Task PutPasswordAsync(BlobVersion blob, string password, CancellationToken cancellationToken)
    {
        if (!context.Passwords.Durable)
        {
            throw new BadInputException("the password can only be kept for the ingest under HIBP_SECRET_KEY, which is not set: make a key with 'openssl rand -base64 32' "
                + "and set it here and where 'hibp run' runs");
        }
        await context.Passwords.PutAsync(blob, password, cancellationToken);
    }

    /// <summary>
    /// The upload has told which version the password is of, that <see cref="PutPasswordAsync"/> has kept for
    /// the version to come.
    /// </summary>
    public async Task SettlePasswordAsync(BlobVersion blob, string password, CancellationToken cancellationToken)
    {
        // Its load may have ended by now; then nobody asks for it any more.
        if (await context.Database.FindLoadAsync(blob, cancellationToken) is not { State: not LoadState.Ingesting })
            await context.Passwords.PutAsync(blob, password, cancellationToken);
        await context.Passwords.DeleteAsync(ArchivePasswords.Coming(blob.Name), cancellationToken);
    }

    /// <summary>
    /// Releases the held loads of a breach, and sends the messages of those that are notifying again. Returns their
    /// open notifications' number.
    /// </summary>
    /// <exception cref="NotPossibleException">No such breach, none of its loads is held, or it is retired or hidden.</exception>
    public async Task<int> NotifyAsync(string breach, CancellationToken cancellationToken)
    {
        var found = await BreachAsync(breach, cancellationToken);
        if (found.Hidden)
            throw new NotPossibleException($"{found.Name} is hidden: while it is, it sends nothing; hibp breach show {found.Name}, then notify");
        var sent = 0;
        foreach (var load in await WaitingAsync(found, load => load.State is LoadState.Held or LoadState.Notifying, cancellationToken))
        {
            await context.Register.MarkOpenAsync(load.Id, cancellationToken);
            await context.Database.ReleaseLoadNotificationsAsync(load.Id, cancellationToken);
            await context.Register.MarkOpenAsync(load.Id, cancellationToken);
            await context.ContinueMailsAsync(load.Id, TimeSpan.Zero, cancellationToken);
            sent += load.Notifications.Open;
        }
        return sent;
    }

    /// <summary>
    /// Stops the mails of a breach: what is being sent goes back to held, and what is not matched yet will be held. A
    /// mail that is on its way goes out. Returns how many notifications wait.
    /// </summary>
    /// <exception cref="NotPossibleException">No such breach, or all of its loads are done.</exception>
    public async Task<int> HoldAsync(string breach, CancellationToken cancellationToken)
    {
        var found = await BreachAsync(breach, cancellationToken);
        var held = await context.Database.HoldLoadsAsync(found.Name, "held by an operator (hibp hold)", cancellationToken);
        var loads = await LoadsAsync(breach, cancellationToken);
        if (loads.All(load => load.State == LoadState.Done))
            throw new NotPossibleException($"all loads of {found.Name} are done: there is nothing left to hold");
        foreach (var load in loads.Where(load => held.Contains(load.Id)))
            context.ReportLoad(load);
        return loads.Where(load => held.Contains(load.Id)).Sum(load => load.Notifications.Open);
    }

    /// <summary>Who would get what, of the held loads of a breach.</summary>
    public async IAsyncEnumerable<Notification> PreviewAsync(string breach, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        const int Page = 1_000;
        foreach (var load in await WaitingAsync(await BreachAsync(breach, cancellationToken), load => load.State == LoadState.Held,
            cancellationToken))
        {
            var last = (await context.Database.GetMailProgressAsync(load.Id, cancellationToken))?.Last ?? 0;
            for (var first = 1; first <= last; first += Page)
            {
                foreach (var notification in await context.Database.ListNotificationsAsync(load.Id, first, first + Page - 1, cancellationToken))
                {
                    if (notification.IsOpen)
                        yield return notification;
                }
            }
        }
    }

    /// <summary>
    /// Removes a breach with the loads that it has now, or goes on with a removal that was broken off
    /// (<see cref="RemoveBreach"/>).
    /// </summary>
    /// <exception cref="NotPossibleException">No such breach, or one of its loads is open.</exception>
    public Task<BreachRemoval> RemoveBreachAsync(string breach, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken) =>
        new RemoveBreach(context).RunAsync(breach, progress, cancellationToken);

    /// <summary>Takes the rows of a finished load away, in chunks. Returns how many.</summary>
    /// <exception cref="NotPossibleException">No such load, or it is still open.</exception>
    public async Task<long> PurgeAsync(long load, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var purged = 0L;
        while (await context.Database.PurgeRowsAsync(load, PurgeChunkRows, cancellationToken) is > 0 and var rows)
        {
            purged += rows;
            progress?.Report(purged);
        }
        return purged;
    }

    /// <summary>
    /// Sends the messages of a poison queue to its queue again: each is sent before it is deleted. Returns how
    /// many.
    /// </summary>
    /// <param name="queue">The queue's name, with or without the poison suffix.</param>
    public async Task<int> RequeuePoisonAsync(string queue, CancellationToken cancellationToken)
    {
        const int AtOnce = 32;
        queue = queue.EndsWith(QueueNames.PoisonSuffix, StringComparison.Ordinal) ? queue[..^QueueNames.PoisonSuffix.Length] : queue;
        if (!QueueNames.All.Contains(queue))
            throw new NotPossibleException($"no stage takes messages of queue '{queue}'; expected one of {string.Join(", ", QueueNames.All)}");
        var poison = context.Queues.Get(queue + QueueNames.PoisonSuffix);
        var sent = 0;
        while (await poison.ReceiveAsync(AtOnce, TimeSpan.FromMinutes(1), cancellationToken) is { Count: > 0 } messages)
        {
            foreach (var message in messages)
            {
                await context.Queues.Get(queue).SendAsync(message.Body, TimeSpan.Zero, cancellationToken);
                await poison.DeleteAsync(message, cancellationToken);
                sent++;
            }
        }
        return sent;
    }

    private async Task<IReadOnlyList<Load>> WaitingAsync(Breach breach, Func<Load, bool> waits, CancellationToken cancellationToken)
    {
        if (breach.Metadata.Flags.HasFlag(BreachFlags.Retired))
            throw new NotPossibleException($"{breach.Name} is retired: it sends nothing");
        var waiting = (await LoadsAsync(breach.Name, cancellationToken)).Where(waits).ToList();
        return waiting.Count > 0
            ? waiting : throw new NotPossibleException($"no load of {breach.Name} is held; see: hibp status {breach.Name}");
    }

    private async Task<Breach> BreachAsync(string breach, CancellationToken cancellationToken) =>
        await context.Database.GetBreachAsync(breach, cancellationToken) ?? throw new NotPossibleException($"there is no breach '{breach}'; see: hibp breaches");

    private async Task<IReadOnlyList<Load>> LoadsAsync(string breach, CancellationToken cancellationToken)
    {
        var loads = await context.Database.ListLoadsAsync(breach, cancellationToken);
        if (loads.Count == 0)
            throw new NotPossibleException($"there is no load of a breach '{breach}'; see: hibp status");
        // What is being removed is nobody's to work with any more.
        var kept = loads.Where(load => !load.Removing).ToList();
        return kept.Count > 0 ? kept : throw new NotPossibleException($"breach '{breach}' is being removed; run 'hibp breach remove' again to end that");
    }
}
