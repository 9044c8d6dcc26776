using System.IO.Compression;

namespace HibpIngest.Cli.Samples;

/// <summary>
/// Writes a synthetic breach: a zip with a CSV, a SQL dump and a combo list, each with about a third of the accounts. Like real dumps it
/// also holds about 5% duplicates, addresses in mixed case, passwords and hashes, names outside ASCII, binary noise, and addresses that
/// break each rule of extraction. The text is a function of the options; the zip's bytes also depend on the compressor. Memory is flat.
/// </summary>
internal static class SampleBreach
{
    private const int RowsPerInsert = 4_000;
    private const int DuplicatesPerThousand = 50;
    private const int JunkPerThousand = 40;
    private const int EscapedPerThousand = 30;
    private const int FlushBytes = 1 << 16;
    private const int CancellationRows = 1 << 12;

    private static readonly string Label64 = new('l', 64);

    /// <summary>Addresses that each break a rule, and text that only resembles an address. None is a valid account.</summary>
    private static readonly byte[][] Junk =
    [
        .. new[]
        {
            new string('x', 65) + "@gmail.com", ".dot@gmail.com", "dot.@gmail.com", "dot..dot@gmail.com", "a@b.c",
            "root@" + string.Concat(Enumerable.Repeat("label.", 45)) + "com",
            "root@localhost", "user@-gmail.com", "user@gmail.com-", "user@gmail..com", "user@gmail.com.", "user@ya-.hoo.com",
            "user@" + Label64 + ".com", "admin@192.168.0.1",
            "admin@10.0.0.255", "logo@2x.png", "icon@3x.jpg", "user@server.local", "user@example.invalid",
            "long." + new string('a', 40) + "@" + string.Concat(Enumerable.Repeat("label.", 35)) + "com",
            "@gmail.com", "nobody@", "no body at gmail.com", "@@@", "björk@exämple.com", "ünï@ço.de", "N/A", "null",
            "user[at]gmail.com", "a@b", "twitter: @someone", "price@5",
        }.Select(Encoding.UTF8.GetBytes),
        // Binary data that contains an @.
        [0x00, 0x01, 0xFF, 0xFE, (byte)'@', 0x80, 0x1B, 0xC3, 0x28, 0xF0, (byte)'@', 0x9F],
    ];

    private static readonly byte[][] People =
    [
        .. new[] { "Jörg Müller", "José García", "Zoë O'Brien", "Łukasz Nowak", "Иван Петров", "王小明", "Anna Smith",
            "John Doe", "Søren Åse", "François Lefèvre", "Peter \"Pit\" Klein", "佐藤 花子" }
            .Select(Encoding.UTF8.GetBytes),
    ];

    /// <summary>Writes the zip to a stream, which stays open and need not be seekable.</summary>
    public static void Write(Stream output, SampleOptions options, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(options.Accounts, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(options.Accounts, SampleOptions.MaxAccounts);
        ArgumentOutOfRangeException.ThrowIfNegative(options.OverlapPercent);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(options.OverlapPercent, 100);

        var third = options.Accounts / 3;
        using var zip = new ZipArchive(output, ZipArchiveMode.Create, leaveOpen: true);
        Entry("users.csv", 0, third, WriteCsv);
        Entry("db/dump.sql", third, 2 * third, WriteSql);
        Entry("combo.txt", 2 * third, options.Accounts, WriteCombo);

        void Entry(string name, long from, long to, Action<Writer, long, long> write)
        {
            var entry = zip.CreateEntry(name, CompressionLevel.Fastest);
            entry.LastWriteTime = new DateTimeOffset(2025, 1, 1, 0, 0, 0, TimeSpan.Zero);
            using var stream = entry.Open();
            var writer = new Writer(stream, options, name, cancellationToken);
            write(writer, from, to);
            writer.Flush();
        }
    }

    private static void WriteCsv(Writer writer, long from, long to)
    {
        writer.Text("\uFEFFid,name,\"e-mail\",registered,ip\r\n"u8);
        foreach (var row in writer.Rows(from, to))
        {
            writer.Number(row);
            writer.Text(",\""u8);
            writer.Escaped(People[writer.Random.Below(People.Length)], "\"\""u8);
            writer.Text("\",\""u8);
            writer.Address();
            writer.Text("\","u8);
            writer.Date();
            writer.Text(",10.0."u8);
            writer.Number(writer.Random.Below(256));
            writer.Text(".7\r\n"u8);
        }
    }

    private static void WriteSql(Writer writer, long from, long to)
    {
        writer.Text("-- dump of `users`\nCREATE TABLE `users` (`id` int, `email` varchar(255), `hash` char(32), `note` text);\n"u8);
        var inLine = 0;
        foreach (var row in writer.Rows(from, to))
        {
            writer.Text(inLine == 0 ? "INSERT INTO `users` VALUES ("u8 : ",("u8);
            writer.Number(row);
            if (writer.Random.Below(1000) < EscapedPerThousand)
            {
                writer.Text(",NULL,'"u8);
                writer.Hash();
                writer.Text("','moved\\r\\n\\tcontact:\\n"u8);
                writer.Address();
                writer.Text("\\tsince "u8);
                writer.Date();
                writer.Text("')"u8);
            }
            else
            {
                writer.Text(",'"u8);
                writer.Address();
                writer.Text("','"u8);
                writer.Hash();
                writer.Text("',NULL)"u8);
            }
            if (++inLine == RowsPerInsert)
            {
                writer.Text(";\n"u8);
                inLine = 0;
            }
        }
        writer.Text(inLine == 0 ? "-- end\n"u8 : ";\n-- end\n"u8);
    }

    private static void WriteCombo(Writer writer, long from, long to)
    {
        foreach (var row in writer.Rows(from, to))
        {
            // One line in eight is JSON, as in collections from several sources.
            if ((row & 7) == 0)
            {
                writer.Text("{\"email\":\""u8);
                writer.Address();
                writer.Text("\",\"hash\":\""u8);
                writer.Hash();
                writer.Text("\"}\n"u8);
                continue;
            }
            writer.Address();
            writer.Text(":"u8);
            writer.Password();
            writer.Text("\n"u8);
        }
    }

    private sealed class Writer(Stream stream, SampleOptions options, string entry, CancellationToken cancellationToken)
    {
        private readonly byte[] _buffer = new byte[FlushBytes + 4096];
        private readonly SampleAccounts _own = new(options.Seed);
        private readonly SampleAccounts _shared = new(options.OverlapSeed);
        private int _used;
        private long _index;
        private bool _duplicate;
        private bool _junk;

        // By the length of the name, so that users.csv and combo.txt share a sequence; a change would change every sample.
        public SplitMix64 Random = new(SplitMix64.Mix((uint)options.Seed) + (ulong)entry.Length);

        /// <summary>
        /// Returns row numbers from 1: a row for each account, sometimes after one with junk or a repeated account, which the next
        /// <see cref="Address"/> then writes.
        /// </summary>
        public IEnumerable<long> Rows(long from, long to)
        {
            var row = 0L;
            for (_index = from; _index < to; _index++)
            {
                if ((_index & (CancellationRows - 1)) == 0)
                    cancellationToken.ThrowIfCancellationRequested();
                var chance = Random.Below(1000);
                _duplicate = chance < DuplicatesPerThousand;
                _junk = chance >= 1000 - JunkPerThousand;
                if (_duplicate || _junk)
                    yield return ++row;
                yield return ++row;
            }
        }

        public void Address()
        {
            if (_junk)
            {
                _junk = false;
                Text(Junk[Random.Below(Junk.Length)]);
                return;
            }
            var index = _index;
            if (_duplicate)
            {
                _duplicate = false;
                index = (long)(Random.Next() % (ulong)(index + 1));
            }
            var length = WriteAccount(index, _buffer.AsSpan(_used));
            ChangeCase(_buffer.AsSpan(_used, length));
            _used += length;
        }

        /// <summary>The first <c>OverlapPercent</c> of each hundred accounts are the other sample's, in its order.</summary>
        private int WriteAccount(long index, Span<byte> destination)
        {
            var (hundred, place) = Math.DivRem(index, 100);
            return place < options.OverlapPercent
                ? _shared.Write(hundred * options.OverlapPercent + place, destination) : _own.Write(index, destination);
        }

        private void ChangeCase(Span<byte> account)
        {
            switch (Random.Below(16))
            {
                case 0:
                    Ascii.ToUpperInPlace(account, out _);
                    break;
                case 1 or 2:
                    Ascii.ToUpperInPlace(account[..1], out _);
                    break;
                case 3:
                    Ascii.ToUpperInPlace(account[account.IndexOf((byte)'@')..], out _);
                    break;
            }
        }

        public void Text(ReadOnlySpan<byte> bytes)
        {
            if (_used >= FlushBytes)
                Flush();
            bytes.CopyTo(_buffer.AsSpan(_used));
            _used += bytes.Length;
        }

        public void Escaped(ReadOnlySpan<byte> bytes, ReadOnlySpan<byte> escapedQuote)
        {
            foreach (var range in bytes.Split((byte)'"'))
            {
                if (range.Start.Value > 0)
                    Text(escapedQuote);
                Text(bytes[range]);
            }
        }

        public void Number(long number)
        {
            number.TryFormat(_buffer.AsSpan(_used), out var written, provider: CultureInfo.InvariantCulture);
            _used += written;
        }

        public void Date()
        {
            Number(2008 + Random.Below(17));
            Text("-"u8);
            Number(10 + Random.Below(3));
            Text("-"u8);
            Number(10 + Random.Below(19));
        }

        public void Hash()
        {
            for (var half = 0; half < 2; half++)
            {
                Random.Next().TryFormat(_buffer.AsSpan(_used), out var written, "x16", CultureInfo.InvariantCulture);
                _used += written;
            }
        }

        public void Password()
        {
            // Some passwords contain an @, as an address does; the others begin with a part of "Anna".
            Text(Random.Below(50) == 0 ? "P@ssw0rd"u8 : People[6].AsSpan(0, 2 + Random.Below(3)));
            Number(Random.Below(100_000));
        }

        public void Flush()
        {
            stream.Write(_buffer, 0, _used);
            _used = 0;
        }
    }
}

internal sealed record SampleOptions
{
    public const long MaxAccounts = SampleAccounts.MaxIndex + 1;

    /// <summary>Distinct accounts; 1 to <see cref="MaxAccounts"/>.</summary>
    public required long Accounts { get; init; }

    /// <summary>Another seed gives other accounts: two samples of a million each share about ten.</summary>
    public int Seed { get; init; } = 1;

    /// <summary>Accounts in each hundred that are shared with the sample of <see cref="OverlapSeed"/>; 0 to 100.</summary>
    public int OverlapPercent { get; init; }

    public int OverlapSeed { get; init; }
}
