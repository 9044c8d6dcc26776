using System.Collections.Concurrent;

namespace HibpIngest.Passwords.Appends;

/// <summary>
/// Splits a confirmed transaction into parts, sends a message for each, and adds parts to the release served at the time of the split. Each
/// hash counts once, however often and in any order messages are delivered; <see cref="SweepAppends"/> resends lost messages.
/// </summary>
public sealed partial class AppendPasswords(
    PasswordStores stores, IPasswordAppends appends, IMessageQueues queues, TimeProvider time, ILogger<AppendPasswords> log)
    : IMessageStage<AppendMessage>
{
    // Within one part. Most of the time is spent waiting for the store.
    private const int RangesAtOnce = 16;

    // A transaction that is done may still be processed in another process for a while: a function ends after minutes.
    private static readonly TimeSpan SettledAfter = TimeSpan.FromHours(1);

    private volatile OpenRelease? _open;

    public async Task RunAsync(AppendMessage message, CancellationToken cancellationToken)
    {
        // A transaction that was deleted was done long ago.
        if (await appends.FindAsync(message.Subscription, message.Transaction, cancellationToken) is not
            { State: AppendState.Confirmed } transaction)
            return;
        try
        {
            if (message.Part is null)
                await SplitAsync(message, transaction, cancellationToken);
            else if (message.Part.Release == transaction.Release && !IsDone(transaction, message.Part.Number))
                await AddAsync(message.Part, transaction, cancellationToken);
        }
        catch (RangeMissingException)
        {
            _open = null;
            throw;
        }
    }

    private async Task SplitAsync(AppendMessage message, AppendTransaction? transaction, CancellationToken cancellationToken)
    {
        while (transaction is { State: AppendState.Confirmed })
        {
            var bytes = await ReadRowsAsync(
                transaction, 0, AppendRows.Bytes(transaction.Sha1Rows, transaction.NtlmRows), cancellationToken);
            var release = await ChooseAsync(transaction.Release, cancellationToken);
            var parts = AppendPart.Of(bytes.Span, transaction.Sha1Rows, release.ToString());
            if (transaction.Release != release.ToString())
            {
                // The hold is read after the transaction: a repack writes it first, then updates the transactions that have not started.
                if (await stores.Blobs.FindAsync(PasswordNames.Hold(release), cancellationToken) is not null)
                    throw new UnavailableException($"release {release.Name} is being repacked: hashes are added when that has ended");
                // A repack that has ended serves the new release first, then deletes the hold.
                if (await ChooseAsync(transaction.Release, cancellationToken) != release)
                    continue;
                var started = await appends.UpdateAsync(
                    transaction with { Release = release.ToString(), PartsDone = NoneDone(parts.Count), MessageSentAt = time.GetUtcNow() },
                    cancellationToken);
                if (started is null)
                {
                    transaction = await appends.FindAsync(message.Subscription, message.Transaction, cancellationToken);
                    continue;
                }
                transaction = started;
            }
            if (parts.Count == 0)
            {
                await appends.UpdateAsync(transaction with { State = AppendState.Done, DoneAt = time.GetUtcNow() }, cancellationToken);
                return;
            }
            foreach (var part in parts.Where(part => !IsDone(transaction, part.Number)))
                await queues.SendAsync(message with { Part = part, Deferrals = 0 }, TimeSpan.Zero, cancellationToken);
            return;
        }
    }

    private async Task AddAsync(AppendPart part, AppendTransaction transaction, CancellationToken cancellationToken)
    {
        var release = await OpenAsync(ReleaseKey.Parse(part.Release), cancellationToken);
        // If the release lacks the mode, there is nothing to add the hashes to.
        if (await release.FindAsync(part.Mode, cancellationToken) is { } source)
        {
            var bytes = await ReadRowsAsync(transaction, part.Offset, part.Rows * AppendRows.RowBytes(part.Mode), cancellationToken);
            var ranges = AppendRows.Read(part.Mode, bytes.Span).GroupBy(row => row.Prefix).Select(range => range.ToArray()).ToList();
            var degree = new ParallelOptions { MaxDegreeOfParallelism = RangesAtOnce, CancellationToken = cancellationToken };
            await Parallel.ForEachAsync(ranges, degree, async (rows, token) => await release.Overlays.AddAsync(
                source, part.Mode, rows[0].Prefix, rows, transaction.Id, () => ListUnsettledAsync(token), token));
            await release.Changes.AddAsync(part.Mode, [.. ranges.Select(rows => rows[0].Prefix)], time.GetUtcNow(), cancellationToken);
        }
        await MarkDoneAsync(part, transaction, cancellationToken);
    }

    private async Task MarkDoneAsync(AppendPart part, AppendTransaction? transaction, CancellationToken cancellationToken)
    {
        while (transaction is { State: AppendState.Confirmed } && transaction.Release == part.Release && !IsDone(transaction, part.Number))
        {
            var done = transaction.PartsDone.ToArray();
            done[part.Number / 8] |= (byte)(1 << (part.Number % 8));
            var isLast = !done.AsSpan().ContainsAnyExcept(byte.MaxValue);
            var changed = transaction with
            {
                PartsDone = done,
                State = isLast ? AppendState.Done : transaction.State,
                DoneAt = isLast ? time.GetUtcNow() : null,
            };
            if (await appends.UpdateAsync(changed, cancellationToken) is not null)
            {
                if (isLast)
                    LogDone(transaction.Id, transaction.Sha1Rows, transaction.NtlmRows, part.Release);
                return;
            }
            transaction = await appends.FindAsync(transaction.Submitter, transaction.Id, cancellationToken);
        }
    }

    /// <summary>Returns the release that a transaction was started with, if it still exists, otherwise the served one.</summary>
    private async Task<ReleaseKey> ChooseAsync(string? started, CancellationToken cancellationToken)
    {
        if (started is not null && ReleaseKey.Parse(started) is var key
            && (await ReleaseReader.FindAsync(stores.Blobs, key.Name, cancellationToken))?.Key == key)
            return key;
        var served = (await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken)).Current?.Served.Release
            ?? throw new UnavailableException(
                "no passwords are served yet that could be added to: import them with 'hibp passwords import FILE'");
        return (await ReleaseReader.FindAsync(stores.Blobs, served, cancellationToken))?.Key
            ?? throw new RangeMissingException(new ReleaseKey(served, null));
    }

    /// <summary>Opens a release and sets its Appended: a mode that is added concurrently is seen here, or sees it set.</summary>
    private async Task<OpenRelease> OpenAsync(ReleaseKey key, CancellationToken cancellationToken)
    {
        while (true)
        {
            var (release, etag) = await ReleaseReader.ReadAsync(stores.Blobs, key.Name, cancellationToken);
            if (release is not { Parts.Count: > 0 } || release.Key != key)
                throw new RangeMissingException(key);
            if (!release.Appended)
            {
                release = release with { Appended = true };
                etag = await ReleaseReader.WriteAsync(stores.Blobs, release, etag, cancellationToken);
            }
            if (etag is null)
                continue; // another process has changed the document
            if (_open is { } open && open.ETag == etag)
                return open;
            return _open = new OpenRelease(stores, release, etag);
        }
    }

    private async Task<ReadOnlyMemory<byte>> ReadRowsAsync(
        AppendTransaction transaction, int offset, int length, CancellationToken cancellationToken) =>
        await appends.ReadRowsAsync(transaction.Id, offset, length, cancellationToken)
        ?? throw new StoreMismatchException($"the hashes of transaction {transaction.Id} no longer exist");

    private async Task<IReadOnlySet<Guid>> ListUnsettledAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        return await appends.ListAsync(cancellationToken).Where(one => one.DoneAt is null || now - one.DoneAt < SettledAfter)
            .Select(one => one.Id).ToHashSetAsync(cancellationToken: cancellationToken);
    }

    /// <summary>The unused bits of the last byte are set.</summary>
    private static byte[] NoneDone(int parts)
    {
        var done = new byte[(parts + 7) / 8];
        if (parts % 8 != 0)
            done[^1] = (byte)(0xFF << (parts % 8));
        return done;
    }

    private static bool IsDone(AppendTransaction transaction, int part) =>
        part / 8 < transaction.PartsDone.Length && (transaction.PartsDone.Span[part / 8] & (1 << (part % 8))) != 0;

    private sealed class OpenRelease(PasswordStores stores, PasswordRelease release, string etag)
    {
        private readonly ConcurrentDictionary<HashMode, Task<IRangeSource>> _sources = new();

        public string ETag => etag;

        public RangeOverlays Overlays { get; } = new(stores.Blobs, release.Key);

        public ChangeLog Changes { get; } = new(stores.Blobs, release.Key);

        public async Task<IRangeSource?> FindAsync(HashMode mode, CancellationToken cancellationToken)
        {
            if (release.BestOf(mode) is not { } part)
                return null;
            var opening = _sources.GetOrAdd(mode, _ => ReleaseReader.OpenAsync(stores, release.Key, part, CancellationToken.None));
            try
            {
                return await opening.WaitAsync(cancellationToken);
            }
            catch (HibpException)
            {
                _sources.TryRemove(KeyValuePair.Create(mode, opening));
                throw;
            }
        }
    }

    [LoggerMessage(
        EventIds.AppendPasswordsDone, LogLevel.Information,
        "append transaction {Transaction}: {Sha1} SHA-1 and {Ntlm} NTLM hashes added to release {Release}")]
    private partial void LogDone(Guid transaction, int sha1, int ntlm, string release);
}
