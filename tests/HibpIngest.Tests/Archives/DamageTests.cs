using HibpIngest.Archives;
using ICSharpCode.SharpZipLib.Zip;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

/// <summary>
/// Tests that damage of any kind ends in a <see cref="BadArchiveException"/> or in the correct texts, quickly and
/// with little memory; stream errors pass through unchanged.
/// </summary>
public sealed class DamageTests(ITestOutputHelper output)
{
    private const string Password = "secret";

    private static readonly ArchiveLimits Limits = new() { MaxEntries = 1000, MaxInflatedBytes = 1 << 20 };

    /// <summary>Formats that check every byte.</summary>
    private static readonly (string Name, byte[] Archive)[] Archives =
    [
        ("plain", Zip(true, ("a.csv", Bytes(Lines(5, 31))), ("dir/", []), ("b", Bytes("b")))),
        ("streamed", Zip(false, ("a.csv", Bytes(Lines(5, 32))), ("b", Bytes("b")))),
        ("stored nested", RawZip.Of(
            new("n.zip", Zip(true, ("a.csv", Bytes(Lines(3, 33))), ("b", Bytes("b")))) { Method = 0 },
            new("s.zip", Zip(false, ("a.csv", Bytes(Lines(3, 34))), ("b", Bytes("b")))) { Method = 0 },
            new("g.gz", Gzip(Bytes(Lines(3, 35)))) { Method = 0 })),
        ("gzip of zip of gzip", RawZip.Of(new RawZip.Entry("g", Gzip(Zip(false, ("z", Gzip(Bytes(Lines(2, 36))))))) { Method = 0 })),
        ("zip64", new RawZip().Add(new("a", Bytes(Lines(3, 37)))).Add(new("b", Bytes("b")) { Method = 0 }).FinishZip64()),
        ("zipcrypto", Encrypted(Password, 0, CompressionMethod.Deflated, ("a.csv", Bytes(Lines(5, 38))))),
        ("aes", Encrypted(Password, 128, CompressionMethod.Deflated, ("a.csv", Bytes(Lines(5, 39))))),
        ("gzip", Gzip(Bytes(Lines(5, 40)))),
        ("tar, gzipped", Gzip(Tar(("a.csv", Bytes(Lines(5, 41))), ("dir/", []), ("g.gz", Gzip(Bytes(Lines(3, 42))))))),
    ];

    /// <summary>Formats without checksums of their content.</summary>
    private static readonly (string Name, byte[] Archive)[] Unchecked =
    [
        ("tar", Tar(
            ("a.csv", Bytes(Lines(5, 43))), (new string('n', 150), Bytes("b")), ("z.zip", Zip(false, ("c", Bytes(Lines(3, 44))))),
            ("t.tar", Tar(("d", Bytes("d")))))),
        ("text", Bytes(Lines(30, 45))),
    ];

    private static (string Name, byte[] Archive)[] Both => [.. Archives, .. Unchecked];

    public static TheoryData<int> All => [.. Enumerable.Range(0, Archives.Length)];

    [Theory]
    [MemberData(nameof(All))]
    public void Changed_byte_is_refused_or_leaves_the_content_intact(int index)
    {
        var (name, archive) = Archives[index];
        var whole = Read(archive, Password, name: FileOf(name)).ConvertAll(text => (text.TopLevel, text.Content));
        byte[] changed = [.. archive];
        var read = 0;
        for (var at = 0; at < archive.Length; at++)
        {
            foreach (var bits in (ReadOnlySpan<byte>)[0x01, 0xFF, (byte)(1 << (at % 8))])
            {
                changed[at] ^= bits;
                // Names and times may change; the content must not.
                if (TryRead(changed, FileOf(name)) is { } texts)
                {
                    read++;
                    Assert.True(whole.SequenceEqual(texts), $"{name}: byte {at} of {archive.Length} changed by {bits:X2} went unnoticed: "
                        + $"{string.Join('|', texts)}\n"
                        + $"{Convert.ToHexString(archive.AsSpan()[Math.Max(0, at - 30)..Math.Min(at + 22, archive.Length)])}");
                }
                changed[at] = archive[at];
            }
        }
        output.WriteLine($"{name}: {archive.Length} bytes, {3 * archive.Length} changes, {read} of them harmless");
    }

    [Theory]
    [InlineData(20240607)]
    public void Random_damage_is_refused_or_read_within_bounded_memory(int seed)
    {
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        byte[][] archives = [.. Both.Select(archive => archive.Archive)];
        long maxAllocated = 0;
        var refused = 0;
        const int rounds = 6000;
        for (var round = 0; round < rounds; round++)
        {
            var (name, archive) = Both[random.Next(archives.Length)];
            var damaged = Damage(random, archive, archives);
            var before = GC.GetAllocatedBytesForCurrentThread();
            try
            {
                if (TryRead(damaged, FileOf(name)) is null)
                    refused++;
            }
            catch (Exception e)
            {
                throw new InvalidOperationException($"seed {seed}, round {round}: {Convert.ToBase64String(damaged)}", e);
            }
            maxAllocated = Math.Max(maxAllocated, GC.GetAllocatedBytesForCurrentThread() - before);
        }
        output.WriteLine($"{refused} of {rounds} refused; at most {maxAllocated:N0} bytes allocated");
        Assert.InRange(refused, rounds / 3, rounds);
        Assert.InRange(maxAllocated, 0, 16 << 20); // Twice the texts at their limit, and the pool's first buffers.
    }

    public static TheoryData<Exception> Faults =>
    [
        new IOException("the network"),
        new EndOfStreamException("the network, early"),
        new UnavailableException("down"),
        new BlobSupersededException("Adobe.zip"),
        new OperationCanceledException(),
    ];

    [Theory]
    [MemberData(nameof(Faults))]
    public void Stream_faults_pass_through_unchanged(Exception fault)
    {
        foreach (var (name, archive) in Both)
        {
            var reads = int.MaxValue;
            for (var failing = 0; failing < reads; failing++)
            {
                var stream = new FaultyStream(archive, failing, fault);
                var thrown = Record.Exception(() =>
                {
                    using var breach = BreachFile.Open(stream, FileOf(name), Password, Limits, opensTars: true);
                    foreach (var text in breach.ReadFrom(default))
                        text.Content.CopyTo(Stream.Null);
                });
                if (stream.Reads <= failing)
                    reads = stream.Reads;
                else
                    Assert.Same(fault, thrown);
            }
            Assert.InRange(reads, 3, 1000);
        }
    }

    [Fact]
    public void Stream_shorter_than_its_length_is_refused()
    {
        foreach (var (name, archive) in Both)
        {
            // A tar ends with zeros, some of which may be missing.
            var last = archive.AsSpan().LastIndexOfAnyExcept((byte)0);
            using var stream = new FaultyStream(archive, int.MaxValue, null) { Missing = last - 40 };
            Assert.Throws<BadArchiveException>(() =>
            {
                using var breach = BreachFile.Open(stream, FileOf(name), Password, Limits, opensTars: true);
                breach.ReadFrom(default).Count();
            });
        }
    }

    private static List<(int TopLevel, string Content)>? TryRead(byte[] archive, string file)
    {
        try
        {
            return Read(archive, Password, Limits, file).ConvertAll(text => (text.TopLevel, text.Content));
        }
        catch (BadInputException)
        {
            return null;
        }
    }

    /// <summary>Returns the file name to upload it as.</summary>
    private static string FileOf(string name) => name switch
    {
        "gzip" => "a.gz",
        "tar, gzipped" => "a.tar.gz",
        "tar" => "a.tar",
        "text" => "a.csv",
        _ => "a.zip",
    };

    private static byte[] Damage(Random random, byte[] archive, byte[][] archives)
    {
        byte[] data = [.. archive];
        for (var changes = random.Next(1, 6); changes > 0; changes--)
        {
            var at = random.Next(data.Length);
            switch (random.Next(6))
            {
                case 0:
                    data[at] = (byte)random.Next(256);
                    break;
                case 1:
                    uint value = random.Next(4) switch { 0 => 0, 1 => uint.MaxValue, 2 => 0x7FFFFFFF, _ => (uint)random.Next(data.Length) };
                    Overwrite(BitConverter.GetBytes(value), at);
                    break;
                case 2:
                    var length = Math.Min(random.Next(1, 64), data.Length - at);
                    var from = random.Next(data.Length - length + 1);
                    data.AsSpan(from, length).ToArray().CopyTo(data, at);
                    break;
                case 3 when data.Length > 60:
                    data = [.. data[..at], .. data[Math.Min(data.Length, at + random.Next(1, 20))..], .. "PK"u8];
                    break;
                case 4:
                    var other = archives[random.Next(archives.Length)];
                    data = [.. data[..at], .. other[random.Next(other.Length)..]];
                    break;
                default:
                    string[] signatures = ["PK\u0001\u0002", "PK\u0003\u0004", "PK\u0005\u0006", "PK\u0006\u0006", "PK\u0007\u0008"];
                    Overwrite(Bytes(signatures[random.Next(signatures.Length)]), at);
                    break;
            }
        }
        return data;

        void Overwrite(byte[] with, int at) => with.AsSpan(0, Math.Min(with.Length, data.Length - at)).CopyTo(data.AsSpan(at));
    }

    private sealed class FaultyStream(byte[] data, int failingRead, Exception? fault) : MemoryStream(data, writable: false)
    {
        public int Reads { get; private set; }

        /// <summary>The position from which the stream has no data, regardless of its length.</summary>
        public long Missing { get; init; } = long.MaxValue;

        // Overridden because a class derived from MemoryStream gets its span reads here.
        public override int Read(byte[] buffer, int offset, int count)
        {
            if (Reads++ == failingRead)
                throw fault!;
            return base.Read(buffer, offset, (int)Math.Clamp(Missing - Position, 0, count));
        }
    }
}
