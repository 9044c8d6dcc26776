using HibpIngest.Archives;

namespace HibpIngest.Passwords.Import;

/// <summary>The texts of several inputs from a position on. Single-threaded, except for <see cref="BytesRead"/>.</summary>
internal sealed class InputTexts(IReadOnlyList<ImportInput> inputs)
{
    private const int MagicBytes = 4;
    private const int SkipBytes = 1 << 20;

    // The files are the operator's own, and lists of every range have a million entries. Deflate expands at most 1,032 to 1.
    private static readonly ArchiveLimits Limits = new()
    {
        MaxEntries = 1 << 24,
        MaxInflatedBytes = long.MaxValue,
        MaxInflationRatio = 1_100,
    };

    private long _bytesBefore;
    private CountedStream? _current;

    public long BytesRead => Interlocked.Read(ref _bytesBefore) + (Volatile.Read(ref _current)?.Reached ?? 0);

    /// <summary>Each text must be read, or abandoned, before the next one is requested.</summary>
    public IEnumerable<InputText> ReadFrom(ImportPosition start)
    {
        for (var i = 0; i < inputs.Count; i++)
        {
            if (i >= start.Input)
            {
                using var stream = inputs[i].Open();
                var counted = new CountedStream(stream);
                Volatile.Write(ref _current, counted);
                foreach (var text in TextsOf(i, counted, i == start.Input ? start : ImportPosition.Start with { Input = i }))
                    yield return text;
                Volatile.Write(ref _current, null);
            }
            Interlocked.Add(ref _bytesBefore, inputs[i].Length ?? 0);
        }
    }

    private IEnumerable<InputText> TextsOf(int input, CountedStream stream, ImportPosition start)
    {
        var name = inputs[input].Name;
        var head = stream.Peek(MagicBytes);
        if (head is [(byte)'P', (byte)'K', 3, 4] or [(byte)'P', (byte)'K', 5, 6])
            return ZipTexts(input, name, stream, start);
        return GzipFile.Matches(head) ? GzipTexts(input, name, stream, start) : PlainText(input, name, stream, start);
    }

    private static IEnumerable<InputText> PlainText(int input, string name, CountedStream stream, ImportPosition start)
    {
        if (start.Offset > 0)
            stream.Position = start.Offset;
        yield return new InputText(input, default, 0, name, stream, start.Offset, start.TextLines);
    }

    private IEnumerable<InputText> GzipTexts(int input, string name, CountedStream stream, ImportPosition start)
    {
        using var text = GzipFile.Open(stream, inputs[input].Length ?? long.MaxValue, name, Limits);
        Skip(text, start.Offset, name);
        yield return new InputText(input, default, 0, name, text, start.Offset, start.TextLines);
    }

    private static IEnumerable<InputText> ZipTexts(int input, string name, CountedStream stream, ImportPosition start)
    {
        if (!stream.CanSeek)
        {
            throw new BadInputException(
                $"'{name}': found a zip, which can't be read from a stream; give its path, or unpack it into the stream");
        }
        using var zip = Named(name, () => BreachArchive.Open(stream, password: null, Limits));
        using var texts = zip.ReadFrom(start.Entry).GetEnumerator();
        var (entry, ordinal) = (start.Entry.Entry, -1);
        while (Named(name, texts.MoveNext))
        {
            var text = texts.Current;
            ordinal = text.TopLevel.Entry == entry ? ordinal + 1 : 0;
            entry = text.TopLevel.Entry;
            var isStart = entry == start.Entry.Entry;
            if (isStart && ordinal < start.Text)
                continue;
            var (offset, lines) = isStart && ordinal == start.Text ? (start.Offset, start.TextLines) : (0, 0);
            var textName = $"{name}/{text.DisplayName}";
            Skip(text.Content, offset, textName);
            yield return new InputText(input, text.TopLevel, ordinal, textName, text.Content, offset, lines, name);
        }
    }

    private static void Skip(Stream text, long bytes, string name)
    {
        var skipped = bytes == 0 ? [] : new byte[SkipBytes];
        while (bytes > 0)
        {
            var read = text.Read(skipped, 0, (int)Math.Min(bytes, skipped.Length));
            if (read == 0)
                throw new BadInputException($"'{name}': shorter than when its import began; import it again");
            bytes -= read;
        }
    }

    /// <summary>Adds a zip's name to messages about it, which name its entries only.</summary>
    public static T Named<T>(string? zip, Func<T> read)
    {
        try
        {
            return read();
        }
        catch (BadArchiveException e) when (zip is not null)
        {
            throw new BadArchiveException($"'{zip}': {e.Message}", e) { NeedsPassword = e.NeedsPassword };
        }
    }
}

/// <param name="Offset">Bytes of the text that an earlier run has processed.</param>
internal sealed record InputText(
    int Input, ArchivePosition Entry, int Text, string Name, Stream Content, long Offset, long TextLines, string? Zip = null);

/// <param name="Input">Ordinal of the input; the number of inputs at the end.</param>
/// <param name="Entry">In a zip, the top-level entry that contains the text.</param>
/// <param name="Text">Ordinal of the text within the entry, or within an input that is not a zip.</param>
/// <param name="Offset">Bytes of the text that were processed, decompressed.</param>
internal sealed record ImportPosition(int Input, ArchivePosition Entry, int Text, long Offset, long TextLines, long Lines, long ZeroRows)
{
    public static readonly ImportPosition Start = new(0, default, 0, 0, 0, 0, 0);
}

/// <summary>A stream whose beginning can be peeked at, and whose read position another thread can query. Leaves the source open.</summary>
internal sealed class CountedStream(Stream source) : Stream
{
    private byte[] _head = [];
    private int _headRead;
    private long _reached;

    public long Reached => Interlocked.Read(ref _reached);

    public override bool CanRead => true;

    public override bool CanSeek => source.CanSeek;

    public override bool CanWrite => false;

    public override long Length => source.Length;

    public override long Position
    {
        get => source.Position;
        set => source.Position = value;
    }

    /// <summary>Must be called before the first read.</summary>
    public ReadOnlySpan<byte> Peek(int bytes)
    {
        var head = new byte[bytes];
        var read = source.ReadAtLeast(head, bytes, throwOnEndOfStream: false);
        if (source.CanSeek)
            source.Position = 0;
        else
            _head = head[..read];
        return head.AsSpan(0, read);
    }

    public override int Read(Span<byte> buffer)
    {
        int read;
        if (_headRead < _head.Length)
        {
            read = Math.Min(buffer.Length, _head.Length - _headRead);
            _head.AsSpan(_headRead, read).CopyTo(buffer);
            _headRead += read;
        }
        else
        {
            read = source.Read(buffer);
        }
        Interlocked.Exchange(ref _reached, CanSeek ? Position : _reached + read);
        return read;
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

    public override long Seek(long offset, SeekOrigin origin) => source.Seek(offset, origin);

    public override void Flush()
    {
    }

    public override void SetLength(long value) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
}
