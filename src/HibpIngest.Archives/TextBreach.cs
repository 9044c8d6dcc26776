namespace HibpIngest.Archives;

/// <summary>
/// A text breach file, split into parts of about <see cref="PartBytes"/> as its entries. Part N begins with the first line feed at or after
/// N times that size; if none comes within <see cref="LineBytes"/>, the previous part continues. A line feed is a separator, so the same
/// accounts are found as in one text. Parts of a UTF-16 text get its byte order mark.
/// </summary>
/// <param name="file">Seekable; not disposed.</param>
/// <param name="partBytes">Even, so that UTF-16 stays aligned.</param>
internal sealed class TextBreach(Stream file, EntryName name, InflationMeter meter, int partBytes = TextBreach.PartBytes) : BreachFile
{
    /// <summary>Takes a second or less to read.</summary>
    public const int PartBytes = 64 << 20;

    /// <summary>No line of a dump is longer; a file without line feeds is read in one part.</summary>
    public const int LineBytes = 1 << 20;

    private const int WindowBytes = 1 << 14;

    private readonly byte[] _window = new byte[WindowBytes];
    private readonly byte[] _scratch = new byte[WindowBytes];
    private byte[] _mark = [];
    private int _part;

    public override ArchivePosition Position => new(_part, meter.InflatedBytes, meter.EntriesOpened, meter.IdleBytes);

    public override IEnumerable<ArchiveText> ReadFrom(ArchivePosition start)
    {
        meter.StartAt(start);
        ReadMark();
        for (_part = start.Entry; StopOf(_part) < file.Length;)
        {
            if (FindStart(_part) is not { } at)
            {
                _part++;
                continue;
            }
            var position = Position;
            meter.CountEntry(name);
            file.Position = at;
            var part = new Part(this, file, at);
            using (var content = new EntryContent(name, part, meter))
            {
                yield return new ArchiveText(position, content);
                content.Drain(_scratch);
            }
            _part = part.Next;
        }
    }

    private void ReadMark()
    {
        Span<byte> head = stackalloc byte[2];
        file.Position = 0;
        var read = file.ReadAtLeast(head, head.Length, throwOnEndOfStream: false);
        _mark = read == head.Length && head is [0xFF, 0xFE] or [0xFE, 0xFF] ? head.ToArray() : [];
    }

    private long StopOf(int part) => Math.Min((long)part * partBytes, file.Length);

    /// <returns>The part's offset; null if the previous part continues.</returns>
    private long? FindStart(int part)
    {
        var at = StopOf(part);
        if (at == 0)
            return 0;
        var end = Math.Min(at + Math.Min(LineBytes, partBytes), file.Length);
        file.Position = at;
        while (at < end)
        {
            var window = _window.AsSpan(0, (int)Math.Min(end - at, _window.Length));
            if (file.ReadAtLeast(window, window.Length, throwOnEndOfStream: false) < window.Length)
                throw Truncated();
            if (FindLineFeed(window) is >= 0 and var found)
                return at + found;
            at += window.Length;
        }
        return null;
    }

    private int FindLineFeed(ReadOnlySpan<byte> window)
    {
        if (_mark.Length == 0)
            return window.IndexOf((byte)'\n');
        var low = _mark[0] == 0xFF ? 0 : 1;
        for (var i = 0; i + 1 < window.Length; i += 2)
        {
            if (window[i + low] == '\n' && window[i + 1 - low] == 0)
                return i;
        }
        return -1;
    }

    private BadArchiveException Truncated() =>
        new($"{name}: it ends before the {file.Length:N0} bytes that it is said to have; drop an intact copy");

    /// <summary>Looks for its end when it gets there.</summary>
    private sealed class Part(TextBreach text, Stream file, long at) : DecoderStream
    {
        // The first part contains the mark.
        private int _marked = at == 0 ? text._mark.Length : 0;
        private long _at = at;
        private long _stop = text.StopOf(text._part + 1);
        private bool _ends;

        public int Next { get; private set; } = text._part + 1;

        public override int Read(Span<byte> buffer)
        {
            if (buffer.IsEmpty)
                return 0;
            if (_marked < text._mark.Length)
            {
                buffer[0] = text._mark[_marked++];
                return 1;
            }
            while (_at == _stop)
            {
                if (_ends || _at == file.Length)
                    return 0;
                if (text.FindStart(Next) is { } start)
                    (_stop, _ends) = (start, true);
                else
                    _stop = text.StopOf(++Next);
                file.Position = _at;
            }
            var read = file.Read(buffer[..(int)Math.Min(buffer.Length, _stop - _at)]);
            if (read == 0)
                throw text.Truncated();
            _at += read;
            return read;
        }
    }
}
