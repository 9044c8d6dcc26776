using System.Buffers;
using System.Collections.Concurrent;
using System.Threading.Channels;
using HibpIngest.Accounts;
using HibpIngest.Archives;
using HibpIngest.Breaches;
using HibpIngest.Telemetry;

namespace HibpIngest.Pipeline;

/// <summary>
/// Turns a dropped file into batches of accounts from a load's checkpoint on. One thread inflates, one scans, one
/// removes duplicates and fills batches; each waits when the next is behind, so memory is bounded: a few chunks
/// of text, a few handfuls of accounts and a few batches, besides the dedupe set.
/// </summary>
internal sealed class AccountExtractor : IAccountSink, IAsyncDisposable
{
    // Large enough that handing a chunk over costs nothing beside inflating it, small enough to stay in the
    // cache until it is scanned.
    private const int ChunkBytes = 512 * 1024;
    private const int Chunks = 4;
    private const int BatchesInHand = 3;

    // Accounts handed from scanning to dedupe at once: some 200 KB, still in the cache when they are taken.
    private const int FoundAtOnce = 8_192;
    private const int FoundInHand = 4;

    private readonly Stream _blob;
    private readonly long _blobBytes;
    private readonly string? _password;
    private readonly Load _load;
    private readonly DedupeSet _known;
    private readonly BlockingCollection<Chunk> _chunks = new(Chunks);
    private readonly BlockingCollection<AccountBatch> _free = [];
    private readonly Channel<ExtractedBatch> _batches = Channel.CreateBounded<ExtractedBatch>(BatchesInHand);
    private readonly CancellationTokenSource _stop = new();
    private readonly BlockingCollection<Found> _found = new(FoundInHand);
    private readonly BlockingCollection<AccountBatch> _freeFound = [];
    private readonly bool[] _isNew = new bool[FoundAtOnce];

    // The scanning thread's.
    private readonly RejectionCounts _rejected;
    private AccountBatch _finding;

    // The dedupe thread's; read by others once it has ended.
    private RejectionCounts _counts;
    private RejectionCounts _countsBeforeEntry;
    private long[] _rejectedTold;
    private ArchivePosition _entry;
    private long _entryFirstPosition;
    private long _position;
    private long _blobBytesRead;
    private AccountBatch _batch;
    private Task _running = Task.CompletedTask;

    /// <param name="blob">The file, for this extraction alone; disposed with it.</param>
    /// <param name="known">Holds the accounts at the positions before the checkpoint's entry.</param>
    public AccountExtractor(Stream blob, string? password, Load load, DedupeSet known)
    {
        _blob = blob;
        _blobBytes = blob.Length;
        _password = password;
        _load = load;
        _known = known;
        var checkpoint = load.Checkpoint;
        _entry = checkpoint.Entry;
        _entryFirstPosition = checkpoint.EntryFirstPosition;
        _position = checkpoint.EntryFirstPosition - 1;
        _rejected = checkpoint.RejectedBeforeEntry.Copy();
        _counts = checkpoint.RejectedBeforeEntry.Copy();
        _countsBeforeEntry = checkpoint.RejectedBeforeEntry;
        _rejectedTold = _counts.ByRule;
        for (var i = 0; i < FoundInHand; i++)
            _freeFound.Add(new AccountBatch(FoundAtOnce));
        _finding = _freeFound.Take();
        for (var i = 0; i < BatchesInHand; i++)
            _free.Add(new AccountBatch(load.Settings.BatchRows));
        _batch = _free.Take();
    }

    /// <summary>
    /// The batches in order; completes after the last, or with what went wrong (batches before it come first).
    /// Give each back by <see cref="Return"/>.
    /// </summary>
    public ChannelReader<ExtractedBatch> Batches => _batches.Reader;

    /// <summary>Where the file's end leaves the load; once <see cref="Batches"/> has completed.</summary>
    public LoadCheckpoint Checkpoint() => new()
    {
        Entry = _entry,
        EntryFirstPosition = _entryFirstPosition,
        RejectedBeforeEntry = _countsBeforeEntry,
        Rejected = _counts.Copy(),
        BlobBytesRead = Math.Min(Interlocked.Read(ref _blobBytesRead), _blobBytes),
        BlobBytes = _blobBytes,
    };

    public void Start() => _running = Task.WhenAll(
        Task.Factory.StartNew(Inflate, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default),
        Task.Factory.StartNew(Scan, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default),
        Task.Factory.StartNew(Deduplicate, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default));

    /// <summary>A batch's buffers may be filled again.</summary>
    public void Return(ExtractedBatch batch)
    {
        batch.Accounts.Clear();
        _free.Add(batch.Accounts);
    }

    /// <summary>Stops the threads, closes the blob, which ends a read of it that hangs, and waits for them.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _blob.DisposeAsync();
        await _running;
        _chunks.Dispose();
        _found.Dispose();
        _freeFound.Dispose();
        _free.Dispose();
        _stop.Dispose();
    }

    void IAccountSink.Add(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
    {
        _finding.Add(alias, domain);
        if (_finding.IsFull)
            PushFound();
    }

    private void Inflate()
    {
        try
        {
            using var file = BreachFile.Open(
                _blob, _load.Blob.Name, _password, _load.Settings.Limits,
                _load.Settings.ExtractorVersion >= AccountScanner.OpensTarsFrom);
            foreach (var text in file.ReadFrom(_entry))
            {
                Push(new Chunk { Entry = text.TopLevel, Starts = true });
                int read;
                do
                {
                    var buffer = ArrayPool<byte>.Shared.Rent(ChunkBytes);
                    read = text.Content.ReadAtLeast(buffer.AsSpan(0, ChunkBytes), ChunkBytes, throwOnEndOfStream: false);
                    Interlocked.Exchange(ref _blobBytesRead, _blob.Position);
                    Push(new Chunk { Buffer = buffer, Length = read, Ends = read < ChunkBytes });
                }
                while (read == ChunkBytes);
            }
            Push(new Chunk { IsLast = true });
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
        }
        catch (Exception e)
        {
            // Through the queue, so that what was read before it is scanned first.
            PushUnlessStopped(new Chunk { Error = e, IsLast = true });
        }
    }

    private void Scan()
    {
        try
        {
            var scanner = new AccountScanner(this, _rejected);
            foreach (var chunk in _chunks.GetConsumingEnumerable(_stop.Token))
            {
                if (chunk.Starts)
                    _found.Add(new Found { Starts = true, Entry = chunk.Entry, Rejected = _rejected.Copy() }, _stop.Token);
                if (chunk.Buffer is { } buffer)
                {
                    scanner.Scan(buffer.AsSpan(0, chunk.Length));
                    ArrayPool<byte>.Shared.Return(buffer);
                }
                if (chunk.Ends)
                {
                    scanner.EndOfText();
                    PushFound(); // the next entry's checkpoint counts from here
                }
                if (chunk.IsLast)
                {
                    _found.Add(new Found { IsLast = true, Error = chunk.Error }, _stop.Token);
                    return;
                }
            }
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
        }
        catch (Exception e)
        {
            Break(e);
        }
    }

    private void Deduplicate()
    {
        try
        {
            foreach (var found in _found.GetConsumingEnumerable(_stop.Token))
            {
                if (found.Rejected is { } rejected)
                    _counts = rejected with { Duplicates = _counts.Duplicates };
                if (found.Starts)
                    StartText(found.Entry);
                if (found.Accounts is { } accounts)
                {
                    var duplicates = _counts.Duplicates;
                    Take(accounts);
                    HibpTelemetry.Extracted(accounts.Count, (int)(_counts.Duplicates - duplicates), _rejectedTold, _counts.ByRule);
                    _rejectedTold = _counts.ByRule;
                    accounts.Clear();
                    _freeFound.Add(accounts);
                }
                if (found.IsLast)
                {
                    // A short batch is the load's last one; after an error the batch in hand is left out, so
                    // that batches stay the same on a rerun.
                    if (found.Error is null && _batch.Count > 0)
                        HandOver();
                    _batches.Writer.Complete(found.Error);
                    return;
                }
            }
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
            _batches.Writer.TryComplete();
        }
        catch (Exception e)
        {
            Break(e);
        }
    }

    /// <summary>
    /// Gives the new ones among the accounts their positions, and copies those past the checkpoint into the
    /// batch.
    /// </summary>
    private void Take(AccountBatch accounts)
    {
        _known.Add(accounts, _isNew);
        for (var i = 0; i < accounts.Count; i++)
        {
            if (!_isNew[i])
            {
                _counts.Duplicates++;
                continue;
            }
            _position++;
            if (_position <= _load.LastPosition)
                continue; // copied before the checkpoint
            if (_batch.Count == 0)
                _batch.FirstPosition = _position;
            _batch.Add(accounts, i);
            if (_batch.IsFull)
                HandOver();
        }
    }

    private void StartText(ArchivePosition entry)
    {
        if (entry.Entry == _entry.Entry)
            return; // the checkpoint's entry, or a further text of a nested archive
        _entry = entry;
        _entryFirstPosition = _position + 1;
        _countsBeforeEntry = _counts.Copy();
    }

    private void PushFound()
    {
        _found.Add(new Found { Accounts = _finding, Rejected = _rejected.Copy() }, _stop.Token);
        _finding = _freeFound.Take(_stop.Token);
    }

    /// <summary>A defect of ours: whoever reads the batches hears of it, and the other threads stop.</summary>
    private void Break(Exception e)
    {
        _batches.Writer.TryComplete(e);
        _stop.Cancel();
    }

    private void HandOver()
    {
        // One free batch is always in hand, so at most BatchesInHand - 1 wait in the channel and the write never fails.
        if (!_batches.Writer.TryWrite(new ExtractedBatch(_batch, Checkpoint(), _known.CapReached)))
            throw new InvalidOperationException("more batches are in hand than were made");
        _batch = _free.Take(_stop.Token);
    }

    private void Push(Chunk chunk) => _chunks.Add(chunk, _stop.Token);

    private void PushUnlessStopped(Chunk chunk)
    {
        try
        {
            Push(chunk);
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
        }
    }

    private readonly struct Chunk
    {
        public byte[]? Buffer { get; init; }

        public int Length { get; init; }

        public bool Starts { get; init; }

        public ArchivePosition Entry { get; init; }

        public bool Ends { get; init; }

        public bool IsLast { get; init; }

        public Exception? Error { get; init; }
    }

    private readonly struct Found
    {
        public AccountBatch? Accounts { get; init; }

        /// <summary>As they stood behind these accounts; duplicates are not in it.</summary>
        public RejectionCounts? Rejected { get; init; }

        public bool Starts { get; init; }

        public ArchivePosition Entry { get; init; }

        public bool IsLast { get; init; }

        public Exception? Error { get; init; }
    }
}

/// <summary>A batch with the checkpoint to commit beside it.</summary>
internal sealed record ExtractedBatch(AccountBatch Accounts, LoadCheckpoint Checkpoint, bool DuplicatesPossible);
