using System.Buffers;
using System.Collections.Concurrent;
using System.Threading.Channels;
using HibpIngest.Archives;

namespace HibpIngest.Pipeline.Ingest;

/// <summary>
/// Turns a dropped file into batches of accounts, from a load's checkpoint on. One thread inflates, one scans, one removes duplicates and
/// fills batches. Each blocks while the next is behind, so memory is bounded: the dedupe set, plus a few chunks of text, a few buffers of
/// accounts and a few batches.
/// </summary>
internal sealed class AccountExtractor : IAccountSink, IAsyncDisposable
{
    // Handing a chunk over costs nothing compared with inflating it, and it is still in the cache when it is scanned.
    private const int ChunkBytes = 512 * 1024;
    private const int Chunks = 4;
    private const int BatchesInFlight = 3;

    // Accounts handed from scanning to dedupe at a time: some 200 KB, still in the cache when they are read.
    private const int FoundAtOnce = 8_192;
    private const int FoundInFlight = 4;

    private readonly Stream _blob;
    private readonly long _blobBytes;
    private readonly string? _password;
    private readonly Load _load;
    private readonly DedupeSet _known;
    private readonly BlockingCollection<Chunk> _chunks = new(Chunks);
    private readonly BlockingCollection<AccountBatch> _free = [];
    private readonly Channel<ExtractedBatch> _batches = Channel.CreateBounded<ExtractedBatch>(BatchesInFlight);
    private readonly CancellationTokenSource _stop = new();
    private readonly BlockingCollection<Found> _found = new(FoundInFlight);
    private readonly BlockingCollection<AccountBatch> _freeFound = [];
    private readonly bool[] _isNew = new bool[FoundAtOnce];

    // Used by the scanning thread only.
    private readonly RejectionCounts _rejected;
    private AccountBatch _finding;

    // Used by the dedupe thread only; others may read them after it has ended.
    private RejectionCounts _counts;
    private RejectionCounts _countsBeforeEntry;
    private long[] _rejectedReported;
    private ArchivePosition _entry;
    private long _entryFirstPosition;
    private long _position;
    private long _blobBytesRead;
    private AccountBatch _batch;
    private Task _running = Task.CompletedTask;

    /// <param name="blob">The file; owned and disposed by this object.</param>
    /// <param name="known">The accounts at the positions before the checkpoint's entry.</param>
    public AccountExtractor(Stream blob, string? password, Load load, DedupeSet known)
    {
        (_blob, _blobBytes, _password, _load, _known) = (blob, blob.Length, password, load, known);
        var checkpoint = load.Checkpoint;
        (_entry, _entryFirstPosition, _position) = (checkpoint.Entry, checkpoint.EntryFirstPosition, checkpoint.EntryFirstPosition - 1);
        _rejected = checkpoint.RejectedBeforeEntry.Copy();
        _counts = checkpoint.RejectedBeforeEntry.Copy();
        _countsBeforeEntry = checkpoint.RejectedBeforeEntry;
        _rejectedReported = _counts.ByRule;
        for (var i = 0; i < FoundInFlight; i++)
            _freeFound.Add(new AccountBatch(FoundAtOnce));
        _finding = _freeFound.Take();
        for (var i = 0; i < BatchesInFlight; i++)
            _free.Add(new AccountBatch(load.Settings.BatchRows));
        _batch = _free.Take();
    }

    /// <summary>The batches in order; ends with the error, if any. Each must be returned with <see cref="Return"/>.</summary>
    public ChannelReader<ExtractedBatch> Batches => _batches.Reader;

    /// <summary>Valid after <see cref="Batches"/> has completed.</summary>
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
        // Through the queue, so that the text read before the error is scanned first.
        StartThread(Inflate, e => Push(new Chunk(Error: e, IsLast: true))), StartThread(Scan, Break), StartThread(Deduplicate, Break));

    public void Return(ExtractedBatch batch)
    {
        batch.Accounts.Clear();
        _free.Add(batch.Accounts);
    }

    /// <summary>Stops the threads and waits for them. Closes the blob first, which ends a hanging read.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _blob.DisposeAsync();
        await _running;
        _batches.Writer.TryComplete();
        _chunks.Dispose();
        _found.Dispose();
        _freeFound.Dispose();
        _free.Dispose();
        _stop.Dispose();
    }

    void IAccountSink.Add(ReadOnlySpan<byte> account, int aliasLength)
    {
        _finding.Add(account, aliasLength);
        if (_finding.IsFull)
            PushFound();
    }

    private Task StartThread(Action work, Action<Exception> fail)
    {
        return Task.Factory.StartNew(Run, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

        void Run()
        {
            try
            {
                try
                {
                    work();
                }
                catch (Exception e) when (e is not OperationCanceledException || !_stop.IsCancellationRequested)
                {
                    fail(e);
                }
            }
            catch (OperationCanceledException) when (_stop.IsCancellationRequested)
            {
                // Disposed, or stopped by Break.
            }
        }
    }

    private void Inflate()
    {
        using var file = BreachFile.Open(
            _blob, _load.Blob.Name, _password, _load.Settings.Limits,
            _load.Settings.ExtractorVersion >= AccountScanner.OpensTarsFrom);
        foreach (var text in file.ReadFrom(_entry))
        {
            Push(new Chunk(Entry: text.TopLevel, Starts: true));
            int read;
            do
            {
                var buffer = ArrayPool<byte>.Shared.Rent(ChunkBytes);
                read = text.Content.ReadAtLeast(buffer.AsSpan(0, ChunkBytes), ChunkBytes, throwOnEndOfStream: false);
                Interlocked.Exchange(ref _blobBytesRead, _blob.Position);
                Push(new Chunk(buffer, read, Ends: read < ChunkBytes));
            }
            while (read == ChunkBytes);
        }
        Push(new Chunk(IsLast: true));
    }

    private void Scan()
    {
        var scanner = new AccountScanner(this, _rejected);
        foreach (var chunk in _chunks.GetConsumingEnumerable(_stop.Token))
        {
            if (chunk.Starts)
                _found.Add(new Found(Starts: true, Entry: chunk.Entry, Rejected: _rejected.Copy()), _stop.Token);
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
                _found.Add(new Found(IsLast: true, Error: chunk.Error), _stop.Token);
                return;
            }
        }
    }

    private void Deduplicate()
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
                HibpTelemetry.Extracted(accounts.Count, (int)(_counts.Duplicates - duplicates), _rejectedReported, _counts.ByRule);
                _rejectedReported = _counts.ByRule;
                accounts.Clear();
                _freeFound.Add(accounts);
            }
            if (found.IsLast)
            {
                // Only a load's last batch is short. After an error the unfinished one is dropped, so that a rerun makes the same batches.
                if (found.Error is null && _batch.Count > 0)
                    HandOver();
                _batches.Writer.Complete(found.Error);
                return;
            }
        }
    }

    private void Take(AccountBatch accounts)
    {
        _known.ReadShare = (double)Interlocked.Read(ref _blobBytesRead) / _blobBytes;
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
            return; // the checkpoint's entry, or another text of a nested archive
        _entry = entry;
        _entryFirstPosition = _position + 1;
        _countsBeforeEntry = _counts.Copy();
    }

    private void PushFound()
    {
        _found.Add(new Found(_finding, _rejected.Copy()), _stop.Token);
        _finding = _freeFound.Take(_stop.Token);
    }

    private void Break(Exception e)
    {
        _batches.Writer.TryComplete(e);
        _stop.Cancel();
    }

    private void HandOver()
    {
        // One batch is always being filled, so at most BatchesInFlight - 1 wait in the channel and the write can't fail.
        if (!_batches.Writer.TryWrite(new ExtractedBatch(_batch, Checkpoint(), _known.HasForgotten)))
            throw new InvalidOperationException("more batches are in use than were created");
        _batch = _free.Take(_stop.Token);
    }

    private void Push(Chunk chunk) => _chunks.Add(chunk, _stop.Token);

    private readonly record struct Chunk(
        byte[]? Buffer = null, int Length = 0, bool Starts = false, ArchivePosition Entry = default, bool Ends = false,
        bool IsLast = false, Exception? Error = null);

    /// <param name="Rejected">The counts after these accounts; without duplicates.</param>
    private readonly record struct Found(
        AccountBatch? Accounts = null, RejectionCounts? Rejected = null, bool Starts = false, ArchivePosition Entry = default,
        bool IsLast = false, Exception? Error = null);
}

/// <summary>A batch with the checkpoint to commit together with it.</summary>
internal sealed record ExtractedBatch(AccountBatch Accounts, LoadCheckpoint Checkpoint, bool DuplicatesPossible);
