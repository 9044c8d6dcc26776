namespace HibpIngest.Archives;

/// <summary>
/// Reads the members of a tar in order. Links are never followed, a sparse file is read without its holes, and zero blocks between
/// concatenated tars are skipped. Not System.Formats.Tar: it reads an extended header into memory, whatever length it claims (2 GB from 512
/// untrusted bytes), and doesn't detect a tar truncated between two members.
/// </summary>
/// <param name="source">Not disposed.</param>
internal sealed class TarEntries(Stream source, EntryName archive)
{
    /// <summary>Maximum length of an extended header: a file's attributes, and names of up to some thousand bytes.</summary>
    public const int MaxExtensionBytes = 1 << 20;

    private const int SkipBytes = 1 << 14;

    private const string NameKey = "path";
    private const string SizeKey = "size";

    private readonly byte[] _block = new byte[TarHeader.BlockBytes];
    private byte[] _skipped = [];
    private SectionStream? _data;
    private long _size;
    private bool _atEndMark;

    /// <returns>The next member, past the rest of the previous one; null after the last.</returns>
    public TarMember? Next()
    {
        if (_size > 0)
        {
            Skip(Sum(_data?.Remaining ?? _size, Padding(_size)));
            (_data, _size) = (null, 0);
        }
        byte[]? name = null;
        long? size = null;
        while (ReadHeader() is { } header)
        {
            if (header.Type is not ((byte)'x' or (byte)'X' or (byte)'L'))
            {
                if (header.Type is (byte)'g' or (byte)'K')
                {
                    Skip(Sum(Known(header), Padding(Known(header))));
                    continue;
                }
                return Begin(header, name, size);
            }
            var extension = ReadExtension(header);
            if (header.Type == (byte)'L')
                name = extension.AsSpan().TrimEnd((byte)0).ToArray();
            else
                ReadRecords(extension, ref name, ref size);
        }
        return null;
    }

    /// <summary>The content must be read to its end before the next call.</summary>
    public EntryContent Open(EntryName entry, InflationMeter? meter)
    {
        _data = new SectionStream(source, _size);
        return new EntryContent(entry, _data, meter);
    }

    private TarMember Begin(TarHeader header, byte[]? name, long? size)
    {
        var hasText = true;
        switch (header.Type)
        {
            // Links, devices, folders, pipes, a volume's name: no data follows them, even if they claim a size.
            case >= (byte)'1' and <= (byte)'6' or (byte)'V':
                return new TarMember(name ?? header.Name, HasText: false);
            case (byte)'M':
                throw Damaged("part of it is in another volume; join the volumes and drop the joined file");
            // Lists of a folder's files, access rights, GNU's old long names.
            case (byte)'D' or (byte)'N' or (byte)'A' or (byte)'E' or (byte)'I':
                hasText = false;
                break;
            case (byte)'S':
                for (var more = header.HasMoreSparseBlocks; more; more = _block[504] != 0)
                    ReadBlock();
                break;
        }
        _size = size ?? Known(header);
        if (source.CanSeek && _size > source.Length - source.Position)
            throw Damaged($"it ends before the {_size:N0} bytes of a file in it");
        return new TarMember(name ?? header.Name, hasText && _size > 0);
    }

    private TarHeader? ReadHeader()
    {
        while (true)
        {
            var read = source.ReadAtLeast(_block, _block.Length, throwOnEndOfStream: false);
            if (_block.AsSpan(0, read).IndexOfAnyExcept((byte)0) < 0)
            {
                if (read == _block.Length)
                {
                    _atEndMark = true;
                    continue;
                }
                // A partial block of zeros is padding.
                return _atEndMark ? null : throw Damaged("it ends without a tar's end mark");
            }
            if (read < _block.Length)
                throw Damaged("it is cut off within a header");
            if (!TarHeader.Matches(_block, needsMagic: false))
                throw Damaged("expected a header, found other data");
            _atEndMark = false;
            return TarHeader.Parse(_block);
        }
    }

    private void ReadBlock()
    {
        if (source.ReadAtLeast(_block, _block.Length, throwOnEndOfStream: false) < _block.Length)
            throw Damaged("it is cut off within the map of a sparse file");
    }

    private byte[] ReadExtension(TarHeader header)
    {
        var size = Known(header);
        if (size > MaxExtensionBytes)
            throw Damaged($"an extended header in it has {size:N0} bytes, expected at most {MaxExtensionBytes:N0}");
        var extension = new byte[size];
        if (source.ReadAtLeast(extension, extension.Length, throwOnEndOfStream: false) < extension.Length)
            throw Damaged("it is cut off within an extended header");
        Skip(Padding(size));
        return extension;
    }

    /// <summary>Reads the records of a pax header: <c>LENGTH KEY=VALUE\n</c>; the length includes the whole record.</summary>
    private void ReadRecords(ReadOnlySpan<byte> records, ref byte[]? name, ref long? size)
    {
        while (records.TrimStart((byte)0) is { IsEmpty: false })
        {
            var blank = records.IndexOf((byte)' ');
            if (blank <= 0 || !int.TryParse(records[..blank], NumberStyles.None, CultureInfo.InvariantCulture, out var length)
                || length <= blank + 1 || length > records.Length)
            {
                throw Damaged("an extended header in it can't be read");
            }
            var record = records[(blank + 1)..length].TrimEnd((byte)'\n');
            records = records[length..];
            var equals = record.IndexOf((byte)'=');
            var value = equals < 0 ? default : record[(equals + 1)..];
            switch (equals < 0 ? "" : Encoding.Latin1.GetString(record[..Math.Min(equals, SizeKey.Length + NameKey.Length)]))
            {
                case NameKey:
                    name = value.ToArray();
                    break;
                case SizeKey:
                    size = long.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out var parsed)
                        ? parsed : throw Damaged("an extended header in it has an invalid size");
                    break;
            }
        }
    }

    private long Known(TarHeader header) => header.Size >= 0 ? header.Size : throw Damaged("a header in it has an invalid size");

    private static long Padding(long size) => -size & (TarHeader.BlockBytes - 1);

    /// <summary>Saturates: an untrusted size may be as large as a long.</summary>
    private static long Sum(long size, long padding) => size > long.MaxValue - padding ? long.MaxValue : size + padding;

    private void Skip(long bytes)
    {
        if (bytes == 0)
            return;
        if (source.CanSeek)
        {
            if (bytes > source.Length - source.Position)
                throw Damaged("it is cut off within a file");
            source.Position += bytes;
            return;
        }
        if (_skipped.Length == 0)
            _skipped = new byte[SkipBytes];
        while (bytes > 0)
        {
            var read = source.Read(_skipped, 0, (int)Math.Min(bytes, _skipped.Length));
            if (read == 0)
                throw Damaged("it is cut off within a file");
            bytes -= read;
        }
    }

    private BadArchiveException Damaged(string reason) =>
        new($"{archive}: {reason}; the tar is damaged or incomplete: drop an intact copy");
}

internal readonly record struct TarMember(byte[] Name, bool HasText);
