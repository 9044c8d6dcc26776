using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Passwords;

/// <summary>
/// Takes messages of queue <see cref="AppendMessage.Queue"/>: spreads a confirmed transaction over messages of its parts, and adds
/// parts to the release that is served when it is spread. However often a message comes, and in whatever order, each hash of a
/// transaction counts once; what is lost on the way <see cref="SweepAppends"/> sends again.
/// </summary>
/// <param name="stores">Where passwords are.</param>
/// <param name="appends">What is to be added.</param>
/// <param name="queue">The queue.</param>
/// <param name="time">The clock.</param>
/// <param name="log">Ids and counts only.</param>
public sealed partial class AppendPasswords(
    PasswordStores stores, IPasswordAppends appends, IMessageQueue queue, TimeProvider time, ILogger<AppendPasswords> log)
{
    // Of a part: most of it is waiting for the store.
    private const int RangesAtOnce = 16;

    // What has come to its end may be in hand for a while yet, elsewhere: a function ends after minutes.
    private static readonly TimeSpan SettledAfter = TimeSpan.FromHours(1);

    private readonly ConcurrentDictionary<(string Release, HashMode Mode), Task<IRangeSource?>> _sources = new();
    private readonly ConcurrentDictionary<string, ChangeLog> _logs = new();

    /// <summary>Does what a message says.</summary>
    /// <param name="body">The message.</param>
    /// <param name="cancellationToken">Stops it; the message comes again.</param>
    /// <exception cref="BadInputException">The message is none.</exception>
    /// <exception cref="StoreUnavailableException">It can't be done now: the message is to be sent again.</exception>
    public async Task RunAsync(string body, CancellationToken cancellationToken)
    {
        var message = AppendMessage.Parse(body);
        // One that is gone has come to its end long ago.
        if (await appends.FindAsync(message.Subscription, message.Transaction, cancellationToken) is not
            { State: AppendState.Confirmed } transaction)
            return;
        try
        {
            if (message.Part is null)
                await SpreadAsync(message, transaction, cancellationToken);
            else if (message.Part.Release == transaction.Release && !IsDone(transaction, message.Part.Number))
                await AddAsync(message.Part, transaction, cancellationToken);
        }
        catch (RangeGoneException)
        {
            // Another release of that name may be there.
            _sources.Clear();
            _logs.Clear();
            throw;
        }
    }

    private async Task SpreadAsync(AppendMessage message, AppendTransaction? transaction, CancellationToken cancellationToken)
    {
        while (transaction is { State: AppendState.Confirmed })
        {
            var bytes = await ReadRowsAsync(
                transaction, 0, AppendRows.Bytes(transaction.Sha1Rows, transaction.NtlmRows), cancellationToken);
            var release = await ChooseAsync(transaction.Release, cancellationToken);
            var parts = AppendPart.Of(bytes.Span, transaction.Sha1Rows, release);
            if (transaction.Release != release)
            {
                // Read after the transaction: whoever holds the release back first says so, then writes to those that are not begun.
                if (await stores.Blobs.FindAsync(PasswordNames.Hold(release), cancellationToken) is not null)
                    throw new StoreUnavailableException($"release {release} is being repacked, and is added to when that has ended");
                // Whoever has repacked it serves the other one first, then holds this one back no more.
                if (await ChooseAsync(transaction.Release, cancellationToken) != release)
                    continue;
                var begun = await appends.UpdateAsync(
                    transaction with { Release = release, PartsDone = NoneDone(parts.Count), SentAt = time.GetUtcNow() },
                    cancellationToken);
                if (begun is null)
                {
                    transaction = await appends.FindAsync(message.Subscription, message.Transaction, cancellationToken);
                    continue;
                }
                transaction = begun;
            }
            if (parts.Count == 0)
            {
                await appends.UpdateAsync(transaction with { State = AppendState.Done, DoneAt = time.GetUtcNow() }, cancellationToken);
                return;
            }
            foreach (var part in parts.Where(part => !IsDone(transaction, part.Number)))
                await queue.SendAsync((message with { Part = part }).ToJson(), TimeSpan.Zero, cancellationToken);
            return;
        }
    }

    private async Task AddAsync(AppendPart part, AppendTransaction transaction, CancellationToken cancellationToken)
    {
        // A mode that the release is without has nothing to be added to.
        if (await SourceAsync(part.Release, part.Mode, cancellationToken) is { } source)
        {
            var bytes = await ReadRowsAsync(
                transaction, part.Offset, part.Rows * AppendRows.RowBytes(part.Mode), cancellationToken);
            var ranges = Split(AppendRows.Read(part.Mode, bytes.Span));
            var overlays = new RangeOverlays(stores.Blobs, part.Release);
            var unsettled = new Lazy<Task<IReadOnlySet<Guid>>>(() => ListUnsettledAsync(cancellationToken));
            var degree = new ParallelOptions { MaxDegreeOfParallelism = RangesAtOnce, CancellationToken = cancellationToken };
            await Parallel.ForEachAsync(ranges, degree, async (rows, token) => await overlays.AddAsync(
                source, part.Mode, rows[0].Prefix, rows, transaction.Id, () => unsettled.Value, token));
            await _logs.GetOrAdd(part.Release, release => new ChangeLog(stores.Blobs, release))
                .AddAsync(part.Mode, [.. ranges.Select(rows => rows[0].Prefix)], time.GetUtcNow(), cancellationToken);
        }
        await NoteDoneAsync(part, transaction, cancellationToken);
    }

    private async Task NoteDoneAsync(AppendPart part, AppendTransaction? transaction, CancellationToken cancellationToken)
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
            transaction = await appends.FindAsync(transaction.Subscription, transaction.Id, cancellationToken);
        }
    }

    /// <summary>The release that it is begun with, as long as there is one of that name, else the one that is served.</summary>
    private async Task<string> ChooseAsync(string? begun, CancellationToken cancellationToken)
    {
        if (begun is not null && await stores.Blobs.FindAsync(PasswordNames.Release(begun), cancellationToken) is not null)
            return begun;
        return (await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken)).Current?.Served.Release
            ?? throw new StoreUnavailableException(
                "no passwords are served yet that could be added to: 'hibp passwords import FILE' brings them");
    }

    /// <summary>The release without what was added to it; null: it is without that mode.</summary>
    private async Task<IRangeSource?> SourceAsync(string release, HashMode mode, CancellationToken cancellationToken)
    {
        var source = _sources.GetOrAdd((release, mode), _ => OpenAsync(release, mode));
        return await source.WaitAsync(cancellationToken);
    }

    private async Task<IRangeSource?> OpenAsync(string release, HashMode mode)
    {
        try
        {
            var (document, _) = await ReleaseReader.ReadAsync(stores.Blobs, release, CancellationToken.None);
            if (document is null)
                throw new RangeGoneException(release);
            return document.BestOf(mode) is { } part ? await ReleaseReader.OpenAsync(stores, release, part, CancellationToken.None) : null;
        }
        catch (HibpException)
        {
            _sources.TryRemove((release, mode), out _);
            throw;
        }
    }

    private async Task<ReadOnlyMemory<byte>> ReadRowsAsync(
        AppendTransaction transaction, int offset, int length, CancellationToken cancellationToken) =>
        await appends.ReadRowsAsync(transaction.Id, offset, length, cancellationToken)
        ?? throw new StoreMismatchException($"the hashes of transaction {transaction.Id} are gone");

    /// <summary>Transactions of which a message may still be worked on somewhere.</summary>
    private async Task<IReadOnlySet<Guid>> ListUnsettledAsync(CancellationToken cancellationToken)
    {
        var (ids, now) = (new HashSet<Guid>(), time.GetUtcNow());
        await foreach (var one in appends.ListAsync(cancellationToken))
        {
            if (one.DoneAt is null || now - one.DoneAt < SettledAfter)
                ids.Add(one.Id);
        }
        return ids;
    }

    private static List<HashCount[]> Split(List<HashCount> rows)
    {
        var ranges = new List<HashCount[]>();
        for (var left = CollectionsMarshal.AsSpan(rows); !left.IsEmpty;)
        {
            var (_, count) = SortedRanges.FirstRange(left);
            ranges.Add(left[..count].ToArray());
            left = left[count..];
        }
        return ranges;
    }

    /// <summary>No part is done, and those that there are not are.</summary>
    private static byte[] NoneDone(int parts)
    {
        var done = new byte[(parts + 7) / 8];
        if (parts % 8 != 0)
            done[^1] = (byte)(0xFF << (parts % 8));
        return done;
    }

    private static bool IsDone(AppendTransaction transaction, int part) =>
        part / 8 < transaction.PartsDone.Length && (transaction.PartsDone.Span[part / 8] & (1 << (part % 8))) != 0;

    [LoggerMessage(
        EventIds.AppendPasswordsDone, LogLevel.Information,
        "transaction {Transaction}: {Sha1} hashes of SHA-1 and {Ntlm} of NTLM are added to release {Release}")]
    private partial void LogDone(Guid transaction, int sha1, int ntlm, string release);
}
