using FsCheck;
using FsCheck.Fluent;

namespace HibpIngest.Tests.Accounts;

public sealed class AccountScannerTests
{
    private const int Seed = 20251005;

    [Theory, MemberData(nameof(AccountCases.All), MemberType = typeof(AccountCases))]
    public void Scan_finds_accounts_and_counts_broken_rules(string text, string found)
    {
        var expected = found.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        foreach (var bytes in Encodings(text))
        {
            var (accounts, broken) = CollectingSink.Scan(bytes);
            Assert.Equal(expected.Where(word => word.Contains('@')), accounts);
            Assert.Equal(expected.Where(word => !word.Contains('@')).Order(), Names(broken).Order());
            AssertEverySplit(bytes, (accounts, broken));
        }
        Assert.Equal(ReferenceExtractor.Extract(text).Accounts, expected.Where(word => word.Contains('@')));
    }

    [Fact]
    public void Scan_matches_the_reference_for_any_chunking()
    {
        var random = new System.Random(Seed);
        Check(HostileText(40), 400, AssertEverySplit);
        Check(HostileText(2000), 150, (bytes, expected) =>
        {
            for (var cut = 0; cut < 5; cut++)
                AssertSame(expected, CollectingSink.Scan(Cut(bytes, random, 1 + random.Next(random.Next(2) == 0 ? 5 : 300))));
        });
    }

    [Fact]
    public void Scan_matches_the_reference_for_random_bytes()
    {
        var random = new System.Random(Seed);
        for (var run = 0; run < 300; run++)
        {
            var bytes = new byte[random.Next(400)];
            random.NextBytes(bytes);
            for (var i = 0; i < bytes.Length; i++)
            {
                if (random.Next(3) > 0)
                    bytes[i] = (byte)"ab.-@@com+_\\n"[random.Next(13)];
            }
            var expected = bytes is [0xFF, 0xFE, ..] or [0xFE, 0xFF, ..]
                ? ReferenceExtractor.Extract((bytes[0] == 0xFF ? Encoding.Unicode : Encoding.BigEndianUnicode).GetString(bytes))
                : ReferenceExtractor.Extract(Encoding.Latin1.GetString(bytes));
            AssertSame(expected, CollectingSink.Scan(bytes));
            AssertSame(expected, CollectingSink.Scan(Cut(bytes, random, 7)));
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(4096)]
    [InlineData(100_000)]
    public void Scan_handles_runs_longer_than_any_buffer(int chunk)
    {
        var text = new string('a', 300_000) + "@b.com " + "a@" + new string('b', 300_000) + ".com " + "x@y.com" + new string('_', 300_000)
            + "z@y.com " + new string('@', 300_000) + "q@r.de";
        var bytes = Encoding.ASCII.GetBytes(text);
        var (accounts, broken) = CollectingSink.Scan(bytes.Chunk(chunk));
        Assert.Equal(["x@y.com", "q@r.de"], accounts);
        Assert.Equal(2, broken[(int)AccountRule.AliasLength]);
        Assert.Equal(1, broken[(int)AccountRule.DomainLength]);
    }

    [Fact]
    public void Scan_allocates_nothing_per_account()
    {
        var bytes = Encoding.ASCII.GetBytes(
            string.Concat(Enumerable.Range(0, 10_000).Select(i => $"{i};First.Last{i}@mail{i % 97}.example.com:hash\n")));
        var sink = new CountingSink();
        var scanner = new AccountScanner(sink, new RejectionCounts());
        ScanInPieces(); // loads types, initializes statics
        Assert.Equal(0, Allocations.Of(ScanInPieces));
        Assert.Equal(0, sink.Count % 10_000);
        Assert.InRange(sink.Count, 20_000, int.MaxValue);

        void ScanInPieces()
        {
            for (var at = 0; at < bytes.Length; at += 1000)
                scanner.Scan(bytes.AsSpan(at, Math.Min(1000, bytes.Length - at)));
            scanner.EndOfText();
        }
    }

    [Fact]
    public void EndOfText_ends_an_account_and_resets_the_encoding()
    {
        var sink = new CollectingSink();
        var scanner = new AccountScanner(sink, new RejectionCounts());
        byte[][] texts =
        [
            Encoding.ASCII.GetBytes("a@b.com"), Encoding.ASCII.GetBytes(".de@f.org"), [0xFF],
            [.. Encoding.Unicode.Preamble, .. Encoding.Unicode.GetBytes("g@h.net"), (byte)'x'], Encoding.ASCII.GetBytes("i@"),
            Encoding.ASCII.GetBytes("jkl.com m@n.de\\"),
            [.. Encoding.BigEndianUnicode.Preamble, .. Encoding.BigEndianUnicode.GetBytes("no@p.com")], Encoding.ASCII.GetBytes("q"),
            Encoding.ASCII.GetBytes("@r.com"),
        ];
        foreach (var text in texts)
        {
            scanner.Scan(text);
            scanner.EndOfText();
        }
        Assert.Equal(["a@b.com", "g@h.net", "m@n.de", "no@p.com"], sink.Accounts);
    }

    private static IEnumerable<string> Names(long[] broken) =>
        Enum.GetValues<AccountRule>().SelectMany(rule => Enumerable.Repeat(rule.ToString(), (int)broken[(int)rule]));

    private static IEnumerable<byte[]> Encodings(string text)
    {
        yield return Encoding.UTF8.GetBytes(text);
        yield return [.. Encoding.UTF8.Preamble, .. Encoding.UTF8.GetBytes(text)];
        yield return [.. Encoding.Unicode.Preamble, .. Encoding.Unicode.GetBytes(text)];
        yield return [.. Encoding.BigEndianUnicode.Preamble, .. Encoding.BigEndianUnicode.GetBytes(text)];
        if (text.All(c => c < 256) && !text.StartsWith('\u00FF') && !text.StartsWith('\u00FE'))
            yield return Encoding.Latin1.GetBytes(text);
    }

    private static void AssertEverySplit(byte[] bytes, (List<string>, long[]) expected)
    {
        for (var split = 0; split <= bytes.Length; split++)
            AssertSame(expected, CollectingSink.Scan(bytes[..split], bytes[split..]));
        AssertSame(expected, CollectingSink.Scan(bytes.Select(b => new[] { b })));
    }

    private static void AssertSame((List<string> Accounts, long[] Broken) expected, (List<string> Accounts, long[] Broken) actual)
    {
        Assert.Equal(expected.Accounts, actual.Accounts);
        Assert.Equal(expected.Broken, actual.Broken);
    }

    private static IEnumerable<byte[]> Cut(byte[] bytes, System.Random random, int max)
    {
        for (var at = 0; at < bytes.Length;)
        {
            var length = Math.Min(bytes.Length - at, random.Next(max + 1));
            yield return bytes[at..(at + length)];
            at += length;
        }
    }

    private static Gen<string> HostileText(int max)
    {
        var piece = Gen.Frequency(
            (6, Gen.Elements("a", "b", "Z", "0", "9", "n", "t", "r", "x")),
            (4, Gen.Elements("@", "@", "@@", ".", "-", "..", ".-", "+", "_")),
            (3, Gen.Elements(".com", ".de", ".co.uk", ".CoM", ".invalid", ".xn--p1ai", "gmail.com", "bob@example.com", "1.2.3.4")),
            (3, Gen.Elements(@"\n", @"\t", @"\r", @"\", "\n", " ", ":", ",", "'", "\"", "\0", "/", "`", "[", "{", "^")),
            (2, Gen.Elements("é", "é.", ".é", "ÿ", "þ", "\u0100", "\u0140", "\u4e00", "\u2640", "\U0001F600", "\uFEFF")),
            (1, Gen.Choose(1, 70).SelectMany(n => Gen.Elements('a', '.', 'B', '-', '_', '@').Select(c => new string(c, n)))),
            (1, Gen.Choose(28, 36).SelectMany(n => Gen.Elements("", "@", "@x.com", ".com").Select(s => new string('q', n) + s))),
            (1, Gen.Elements(64, 65, 63, 62).Select(n => new string('c', n))),
            (1, Gen.Choose(180, 260).Select(
                n => string.Concat(Enumerable.Repeat(new string('l', 50) + ".", n / 51)) + new string('m', n % 51))));
        return Gen.Choose(0, max / 2).SelectMany(count => Gen.ListOf(piece, count)).Select(pieces => string.Concat(pieces)).Select(
            text => text.Length > max * 4 ? text[..(max * 4)] : text);
    }

    /// <summary>Checks these texts in every encoding, as a whole and cut.</summary>
    private static void Check(Gen<string> texts, int runs, Action<byte[], (List<string>, long[])> cut) =>
        Prop.ForAll(texts.ToArbitrary(), text =>
        {
            var expected = ReferenceExtractor.Extract(text);
            foreach (var bytes in Encodings(text))
            {
                AssertSame(expected, CollectingSink.Scan(bytes));
                cut(bytes, expected);
            }
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(runs).WithReplay(Seed, 1));

    private sealed class CountingSink : IAccountSink
    {
        public int Count { get; private set; }

        public void Add(ReadOnlySpan<byte> account, int aliasLength) => Count++;
    }
}
