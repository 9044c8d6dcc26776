using System.Collections.Concurrent;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// Spreads the rows of files over buckets in a work folder, and returns them sorted (<see cref="SortedRanges"/>). Opened with the same
/// inputs and options, it resumes from the last checkpoint.
/// </summary>
internal sealed class HashImport : IDisposable
{
    private const string SpoolFile = "hashes.spool";
    private const string StateFile = "state.json";
    private const int Blocks = 4;

    // Rows that are parsed and then spread over buckets at once: few enough to stay in the CPU cache.
    private const int RowsAtOnce = 2_048;

    // A collection takes tenths of a second in a large process; an import of fewer rows frees too little to be worth one.
    private const long MinBytesToCollect = 32L << 20;

    private readonly ImportOptions _options;
    private readonly IReadOnlyList<ImportInput> _inputs;
    private readonly SafeFileHandle _file;
    private readonly bool _keepsState;
    private readonly SpoolDirectory _directory;
    private ImportPosition _position;
    private long _spoolLength;
    private bool _isComplete;
    private SortSlots? _slots;

    private HashImport(ImportOptions options, IReadOnlyList<ImportInput> inputs, SafeFileHandle file)
    {
        _options = options;
        _inputs = inputs;
        _file = file;
        _keepsState = inputs.All(input => input.Version is not null);
        var buckets = HashSpool.Buckets * options.Modes.Count;
        var state = SpoolState.Read(StatePath);
        SpoolDirectory? directory = null;
        if (state is null)
            Start = ImportStart.New;
        else if (state.Format != SpoolState.CurrentFormat)
            Start = ImportStart.Damaged;
        else if (!state.Matches(options, inputs))
            Start = ImportStart.OtherInput;
        else if (state.SpoolLength > RandomAccess.GetLength(file)
            || (directory = SpoolDirectory.Read(state.Directory, buckets, state.SpoolLength)) is null)
            Start = ImportStart.Damaged;
        else
            Start = state.IsComplete ? ImportStart.AllRead : ImportStart.Continues;

        if (Start is ImportStart.AllRead or ImportStart.Continues)
        {
            (_directory, _position, _spoolLength, _isComplete) = (directory!, state!.Position, state.SpoolLength, state.IsComplete);
        }
        else
        {
            (_directory, _position) = (new SpoolDirectory(buckets), ImportPosition.Start);
            // Delete the state first: a state must never describe a spool that isn't there.
            File.Delete(StatePath);
        }
        RandomAccess.SetLength(file, _spoolLength);
    }

    public ImportStart Start { get; }

    /// <summary>The same unchanged files, read in the same way, as 16 hex digits; null if an input can be read only once.</summary>
    public string? Source => _keepsState ? SpoolState.SourceOf(_options, _inputs) : null;

    private string StatePath => Path.Combine(_options.WorkFolder, StateFile);

    /// <summary>Opens the work folder, creating it if needed, and locks it until disposed.</summary>
    public static HashImport Open(ImportOptions options, IReadOnlyList<ImportInput> inputs)
    {
        if (options.MemoryBytes < ImportOptions.MinMemoryBytes)
        {
            throw new BadInputException(
                $"expected at least {ImportOptions.MinMemoryBytes >> 20} MiB of memory for an import, found "
                + $"{options.MemoryBytes >> 20}; give it more by --memory");
        }
        Directory.CreateDirectory(options.WorkFolder);
        SafeFileHandle file;
        try
        {
            file = File.OpenHandle(
                Path.Combine(options.WorkFolder, SpoolFile), FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
        }
        catch (IOException e) when (e.GetType() == typeof(IOException))
        {
            throw new BadInputException(
                $"expected '{options.WorkFolder}' for this import alone, found that another one uses it; wait until that has ended, or "
                + "name another folder", e);
        }
        try
        {
            return new HashImport(options, inputs, file);
        }
        catch
        {
            file.Dispose();
            throw;
        }
    }

    /// <summary>Reads the inputs from the last checkpoint on, recording further checkpoints; called once.</summary>
    /// <param name="progress">Called after each block of text (1 MiB), from another thread.</param>
    public async Task<ImportSummary> ReadAsync(IProgress<ImportProgress>? progress, CancellationToken token)
    {
        if (!_isComplete)
        {
            try
            {
                await Task.Factory.StartNew(
                    () => ReadInputsAsync(progress, token), CancellationToken.None, TaskCreationOptions.LongRunning,
                    TaskScheduler.Default).Unwrap();
            }
            catch (IOException e) when (DiskFull.Is(e))
            {
                throw new StoreFullException(
                    $"expected room for the hashes in '{_options.WorkFolder}', found its disk full; make room, or name another folder, and "
                    + "import again", e);
            }
        }
        return new ImportSummary(Start, _position.Lines, _directory.Rows, _position.ZeroRows);
    }

    public SortedRanges Ranges(HashMode mode) =>
        Ranges(mode, _slots ??= SortSlots.For(_directory.MaxRowsOfBucket, _options.SortBytes));

    /// <summary>Frees arrays of tens of megabytes, which the collector would keep in addition to those of the next step.</summary>
    public void FreeMemory()
    {
        _slots?.Dispose();
        _slots = null;
        if (_directory.Rows * ChunkPlace.RowBytes >= MinBytesToCollect)
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
    }

    public SortedRanges Ranges(HashMode mode, SortSlots slots)
    {
        if (!_isComplete)
            throw new InvalidOperationException("the import is not complete: await its run before calling Ranges");
        var ordinal = _options.Modes.ToList().IndexOf(mode);
        ArgumentOutOfRangeException.ThrowIfNegative(ordinal, nameof(mode));
        return new SortedRanges(_file, _spoolLength, _directory, ordinal * HashSpool.Buckets, slots);
    }

    public void Delete()
    {
        File.Delete(StatePath);
        File.Delete(Path.Combine(_options.WorkFolder, SpoolFile));
        Dispose();
        if (!Directory.EnumerateFileSystemEntries(_options.WorkFolder).Any())
            Directory.Delete(_options.WorkFolder);
    }

    public void Dispose()
    {
        _file.Dispose();
        _slots?.Dispose();
    }

    private async Task ReadInputsAsync(IProgress<ImportProgress>? progress, CancellationToken token)
    {
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(token);
        var texts = new InputTexts(_inputs);
        var full = new BlockingCollection<TextBlock>(Blocks);
        var free = new BlockingCollection<TextBlock>(Blocks);
        for (var i = 0; i < Blocks; i++)
            free.Add(new TextBlock(PasswordLines.MaxLineBytes, _options.BlockBytes), CancellationToken.None);
        var start = _position;
        var reading = Task.Factory.StartNew(
            () => FillBlocks(texts, start, free, full, stop.Token), CancellationToken.None, TaskCreationOptions.LongRunning,
            TaskScheduler.Default);
        var checkpoint = Task.CompletedTask;
        try
        {
            var spool = new HashSpool(_file, _spoolLength, _directory, _options.Modes.Count, _options.BufferBytes);
            var length = _inputs.All(input => input.Length is not null) ? _inputs.Sum(input => input.Length) : null;
            var rows = new HashCount[RowsAtOnce];
            var left = new byte[PasswordLines.MaxLineBytes];
            var (leftBytes, sinceCheckpoint) = (0, 0L);
            var (linesBefore, zerosBefore) = (start.Lines, start.ZeroRows);
            var rowsBefore = _directory.Rows;
            ILineReader lines = null!;
            foreach (var block in full.GetConsumingEnumerable(stop.Token))
            {
                if (block.IsBegin)
                {
                    lines = _options.Plain
                        ? new PasswordLines(block.Text.Name, block.Text.TextLines)
                        : new HashLines(_options.Mode, block.Text.Name, block.Text.TextLines);
                    _position = new ImportPosition(block.Text.Input, block.Text.Entry, block.Text.Text, block.Text.Offset, 0, 0, 0);
                }
                block.Prepend(left.AsSpan(0, leftBytes));
                var text = block.Span;
                int read;
                do
                {
                    (read, var bytes) = lines.Read(text, block.IsEnd, rows);
                    spool.Add(rows.AsSpan(0, read));
                    rowsBefore += read;
                    text = text[bytes..];
                }
                while (read + lines.RowsOfLine > rows.Length);
                text.CopyTo(left);
                leftBytes = text.Length;
                var done = block.Span.Length - leftBytes;
                sinceCheckpoint += done;
                _position = _position with
                {
                    Offset = _position.Offset + done,
                    TextLines = lines.Lines,
                    Lines = linesBefore + lines.Lines - block.Text.TextLines,
                    ZeroRows = zerosBefore + lines.ZeroRows,
                };
                progress?.Report(new ImportProgress(block.BytesRead, length, _position.Lines, rowsBefore));
                if (block.IsEnd)
                    (linesBefore, zerosBefore) = (_position.Lines, _position.ZeroRows);
                free.Add(block, CancellationToken.None);
                if (sinceCheckpoint >= _options.CheckpointBytes && _keepsState)
                {
                    sinceCheckpoint = 0;
                    await checkpoint;
                    checkpoint = Checkpoint(spool, isComplete: false);
                }
            }
            await reading;
            await checkpoint;
            await Checkpoint(spool, isComplete: true);
            _spoolLength = spool.Length;
            _isComplete = true;
        }
        finally
        {
            await stop.CancelAsync();
            await checkpoint.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            // Standard input may never deliver another byte; its thread ends with the next one.
            if (_keepsState)
                await reading.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private void FillBlocks(
        InputTexts texts, ImportPosition start, BlockingCollection<TextBlock> free, BlockingCollection<TextBlock> full,
        CancellationToken stop)
    {
        try
        {
            foreach (var text in texts.ReadFrom(start))
            {
                var isBegin = true;
                TextBlock block;
                do
                {
                    block = free.Take(stop);
                    InputTexts.Named(text.Zip, () =>
                    {
                        block.Fill(text, isBegin);
                        return true;
                    });
                    block.BytesRead = texts.BytesRead;
                    isBegin = false;
                    full.Add(block, stop);
                }
                while (!block.IsEnd);
            }
        }
        finally
        {
            full.CompleteAdding();
        }
    }

    /// <summary>Writes the rows to the file; flushing it to disk and writing the state run concurrently with reading.</summary>
    private Task Checkpoint(HashSpool spool, bool isComplete)
    {
        spool.Flush();
        if (!_keepsState)
            return Task.CompletedTask;
        var state = new SpoolState(
            SpoolState.CurrentFormat, _options.Plain, [.. _options.Modes.Select(mode => mode.Name())],
            [.. _inputs.Select(SpoolState.Input.Of)], _position, isComplete, spool.Length, _directory.ToBytes());
        return Task.Run(() =>
        {
            RandomAccess.FlushToDisk(_file);
            state.Write(StatePath);
        });
    }
}

/// <summary>A block of a text, with room before it for the previous block's unfinished line.</summary>
internal sealed class TextBlock(int room, int bytes)
{
    private readonly byte[] _bytes = GC.AllocateUninitializedArray<byte>(room + bytes);
    private int _begin;
    private int _end;

    public InputText Text { get; private set; } = null!;

    public bool IsBegin { get; private set; }

    public bool IsEnd { get; private set; }

    public long BytesRead { get; set; }

    public ReadOnlySpan<byte> Span => _bytes.AsSpan(_begin, _end - _begin);

    public void Fill(InputText text, bool isBegin)
    {
        var piece = _bytes.AsSpan(room, bytes);
        var read = text.Content.ReadAtLeast(piece, piece.Length, throwOnEndOfStream: false);
        (Text, IsBegin, IsEnd) = (text, isBegin, read < piece.Length);
        (_begin, _end) = (room, room + read);
    }

    public void Prepend(ReadOnlySpan<byte> left)
    {
        _begin -= left.Length;
        left.CopyTo(_bytes.AsSpan(_begin));
    }
}
