using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Passwords.Ranges;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Tests.Passwords;

public sealed class SortedTextTests(ITestOutputHelper output)
{
    private static readonly CancellationToken None = CancellationToken.None;

    [Theory]
    [InlineData(1, 0)]
    [InlineData(2, 1)]
    [InlineData(3, 300)]
    [InlineData(4, 20_000)]
    [InlineData(5, 60_000)]
    public async Task Each_piece_holds_its_groups_lines_and_locating_needs_few_reads(int seed, int rows)
    {
        var random = new Random(seed);
        // Few groups in some, all in others; some groups far larger than the rest.
        var groups = Enumerable.Range(0, random.Next(1, 300)).Select(_ => random.Next(256)).ToArray();
        var lines = Enumerable.Range(0, rows)
            .Select(row => $"{groups[random.Next(1 + (row % groups.Length))]:X2}{random.GetHexString(30)}:{random.Next(1, 1_000)}")
            .Order(StringComparer.Ordinal).ToList();
        var text = new StringBuilder();
        foreach (var line in lines)
        {
            if (random.Next(10) == 0)
                text.Append(random.Next(4) switch { 0 => "\uFEFF", 1 => "\r\n", 2 => " \t\n\uFEFF", _ => "\uFEFF\n\r" });
            text.Append(line).Append(random.Next(4) switch { 0 => "\r\n", 1 => "\r", _ => "\n" });
            // Longer than one read of the search.
            if (random.Next(5_000) == 0)
                text.Append('\n', random.Next(600_000));
        }
        var drops = new Dropped(Encoding.UTF8.GetBytes(random.Next(2) == 0 ? text.ToString() : text.ToString().TrimEnd()));
        output.WriteLine($"{groups.Length} groups, {lines.Count} lines, {drops.File.Length} bytes");
        var offsets = await new SortedText(drops.Reader).LocateAsync(None);
        output.WriteLine($"{drops.Reads} reads of {drops.BytesRead} bytes");
        Assert.Equal(offsets.Order(), offsets);
        Assert.Equal((0, drops.File.Length), (offsets[0], offsets[^1]));
        Assert.InRange(drops.Reads, 0, 40 * groups.Length);

        var expected = lines.ToLookup(line => Convert.ToInt32(line[..2], 16));
        var found = new List<string>();
        for (var group = 0; group < PasswordNames.Groups; group++)
        {
            var piece = new List<string>();
            await new SortedPiece(drops.Reader, HashMode.Ntlm, group, offsets[group], offsets[group + 1]).ReadAsync((prefix, range, _) =>
            {
                Assert.Equal([prefix], range.ToArray().Select(row => row.Prefix).Distinct());
                piece.AddRange(range.ToArray().Select(row => HashText.Of(row, HashMode.Ntlm)));
                return ValueTask.CompletedTask;
            }, None);
            Assert.Equal(expected[group], piece);
            found.AddRange(piece);
        }
        Assert.Equal(lines, found);
    }

    [Fact]
    public async Task An_unsorted_text_is_rejected_with_the_offset_of_a_line()
    {
        const int Seed = 6;
        var random = new Random(Seed);
        var sorted = Enumerable.Range(0, 30_000).Select(_ => $"{random.GetHexString(32)}:{random.Next(1, 9)}")
            .Order(StringComparer.Ordinal).ToArray();
        for (var round = 0; round < 20; round++)
        {
            var lines = sorted.ToArray();
            var (one, other) = (random.Next(lines.Length), random.Next(lines.Length));
            if (one == other)
                continue;
            (lines[one], lines[other]) = (lines[other], lines[one]);
            var drops = new Dropped(Encoding.ASCII.GetBytes(string.Join("\r\n", lines)));
            var offsets = await new SortedText(drops.Reader).LocateAsync(None);
            var refused = new List<BadInputException>();
            for (var group = 0; group < PasswordNames.Groups; group++)
            {
                var piece = new SortedPiece(drops.Reader, HashMode.Ntlm, group, offsets[group], offsets[group + 1]);
                var failure = await Record.ExceptionAsync(() => piece.ReadAsync((_, _, _) => ValueTask.CompletedTask, None));
                if (failure is not null)
                    refused.Add(Assert.IsAssignableFrom<BadInputException>(failure));
            }
            Assert.NotEmpty(refused);
            var places = refused.Select(e => long.Parse(e.Message.Split("byte ")[1].Split(':')[0])).ToList();
            Assert.All(places, place => Assert.True(place == 0 || drops.ByteAt(place - 1) == '\n', $"round {round}: {place}"));
        }
    }

    [Theory]
    [InlineData("00")]
    [InlineData("nonsense")]
    public async Task A_malformed_line_is_reported_by_offset_without_its_content(string line)
    {
        var before = string.Concat(Enumerable.Range(0, 10_000).Select(row => $"0000000000000000000000000{row:X7}:1\n"));
        var drops = new Dropped(Encoding.ASCII.GetBytes($"{before}{line}:secret\n"));
        var error = await Assert.ThrowsAsync<BadInputException>(async () =>
        {
            var offsets = await new SortedText(drops.Reader).LocateAsync(None);
            await new SortedPiece(drops.Reader, HashMode.Ntlm, 0, offsets[0], offsets[1]).ReadAsync(
                (_, _, _) => ValueTask.CompletedTask, None);
        });
        Assert.StartsWith($"'hashes.txt', at byte {before.Length}: expected HASH:COUNT", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("nonsense", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Counts_of_equal_hashes_are_summed_up_to_the_maximum()
    {
        var hash = new string('A', 32);
        var drops = new Dropped(Encoding.ASCII.GetBytes($"{hash}:{long.MaxValue}\n{hash}:1\n{hash}:0\n{hash.ToLowerInvariant()}:3"));
        var rows = new List<HashCount>();
        await new SortedPiece(drops.Reader, HashMode.Ntlm, 0xAA, 0, drops.File.Length).ReadAsync((_, range, _) =>
        {
            rows.AddRange(range.ToArray());
            return ValueTask.CompletedTask;
        }, None);
        Assert.Equal($"{hash}:{long.MaxValue}", HashText.Of(Assert.Single(rows), HashMode.Ntlm));
    }

    private sealed class Dropped(byte[] bytes) : IPasswordDrops
    {
        private int _reads;
        private long _bytesRead;

        public DroppedPasswords File { get; } = new("hashes.txt", "1", bytes.Length, default);

        public DropReader Reader => new(this, File);

        public int Reads => _reads;

        public long BytesRead => _bytesRead;

        public byte ByteAt(long place) => bytes[place];

        public Task CreateAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

        public IAsyncEnumerable<DroppedPasswords> ListAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<DroppedPasswords?> FindAsync(string name, CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<ReadOnlyMemory<byte>?> ReadAsync(
            DroppedPasswords file, long offset, int length, CancellationToken cancellationToken)
        {
            Interlocked.Increment(ref _reads);
            Interlocked.Add(ref _bytesRead, length);
            return Task.FromResult<ReadOnlyMemory<byte>?>(bytes.AsMemory((int)offset, length));
        }

        public Task DeleteAsync(DroppedPasswords file, CancellationToken cancellationToken) => throw new NotSupportedException();
    }
}
