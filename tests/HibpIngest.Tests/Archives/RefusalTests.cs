using System.Buffers.Binary;
using System.IO.Hashing;
using HibpIngest.Archives;
using ICSharpCode.SharpZipLib.Zip;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

public sealed class RefusalTests
{
    private static readonly byte[] Text = Bytes(Lines(500, 11));
    private static readonly RawZip.Entry Entry = new("e", Text);

    [Fact]
    public void File_that_is_not_a_zip_is_refused_with_its_detected_format()
    {
        Assert.Equal("not a zip: the file is empty (0 bytes); drop the archive again", Refusal([]));
        AssertRefused("not a zip: found a file of 5 bytes without a zip's end record", Bytes("a@b.c"));
        Assert.DoesNotContain('@', Refusal(Bytes(Lines(10, 1))));
        AssertRefused("found a gzip file", Gzip(Text));
        AssertRefused("found a 7z archive", [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, .. new byte[40]]);
        AssertRefused("found a RAR archive", Bytes("Rar!" + new string('x', 40)));
    }

    [Fact]
    public void Zip_without_entries_yields_no_texts()
    {
        using var breach = BreachArchive.Open(new MemoryStream(RawZip.Of()), null, new ArchiveLimits());
        Assert.Equal(0, breach.Entries);
        Assert.Empty(breach.ReadFrom(default));
    }

    [Fact]
    public void Every_truncation_is_refused()
    {
        var zip = Zip(false, ("a.csv", Bytes("first@example.com")), ("b.zip", Zip(false, ("c", Bytes("in b")))));
        AssertRefused("truncated", zip[..(zip.Length / 2)]);
        for (var length = 0; length < zip.Length; length++)
            Refusal(zip[..length]);
    }

    [Fact]
    public void Truncated_zip_is_not_read_as_its_nested_zip()
    {
        var inner = Zip(true, ("i", Bytes("inner")));
        var zip = RawZip.Of(new RawZip.Entry("first", Text), Stored("n", inner), new RawZip.Entry("last", Text));
        var innerEnd = zip.AsSpan().IndexOf(inner) + inner.Length;
        for (var length = innerEnd; length < zip.Length; length++)
            AssertRefused("truncated", zip[..length]);
    }

    [Fact]
    public void Zip_without_its_first_bytes_is_refused()
    {
        var zip = Zip(true, ("a.csv", Bytes("first@example.com")), ("b.csv", Bytes("second")));
        for (var cut = 1; cut < zip.Length; cut++)
            Refusal(zip[cut..]);
    }

    [Fact]
    public void Texts_before_the_damage_are_delivered()
    {
        var zip = RawZip.Of(new("good.csv", Text), new("bad.csv", Text) { CentralCrc = 0x12345678 });
        var delivered = new List<string>();
        using var breach = BreachArchive.Open(new MemoryStream(zip), null, new ArchiveLimits());

        var thrown = Assert.Throws<BadArchiveException>(() =>
        {
            foreach (var text in breach.ReadFrom(default))
            {
                delivered.Add(text.DisplayName);
                text.Content.CopyTo(Stream.Null);
            }
        });

        Assert.Equal(["good.csv", "bad.csv"], delivered);
        Assert.Equal(
            $"entry 2 of 2 'bad.csv': its CRC-32 should be 12345678 and is {Crc32.HashToUInt32(Text):X8}; the archive is damaged or "
            + "incomplete: drop an intact copy",
            thrown.Message);
    }

    [Fact]
    public void Skipped_text_is_still_verified()
    {
        using var breach = BreachArchive.Open(
            new MemoryStream(RawZip.Of(new("a", Text) { CentralCrc = 1 }, new("b", Text))), null, new ArchiveLimits());
        Assert.Throws<BadArchiveException>(() => breach.ReadFrom(default).Count());
    }

    public static TheoryData<string, byte[]> InvalidHeaders => new()
    {
        { "inflates to more than the 10 bytes its header says", RawZip.Of(Entry with { CentralSize = 10 }) },
        { "bytes, its header says 999,999", RawZip.Of(Entry with { CentralSize = 999_999 }) },
        { "inflates to 0 bytes, its header says 5", RawZip.Of(new RawZip.Entry("e", Bytes("hello")) { Compressed = [3, 0] }) },
        { "bytes, its header says", RawZip.Of(Entry with { CentralCompressed = 100 }) },
        {
            "compressed data continues after its end",
            RawZip.Of(Entry with { Compressed = [.. RawZip.Deflate(Text), .. new byte[20_000]] })
        },
        { "are not within the file", RawZip.Of(Entry with { CentralCompressed = 1_000_000 }) },
        { "deflate data is damaged after 0 bytes", RawZip.Of(Entry with { Compressed = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF] }) },
        { "there is no local header at the offset in the central directory", RawZip.Of(Entry with { Offset = 3 }) },
        { "its data is not within the file", RawZip.Of(Entry with { Offset = 0xFFFFFF00 }) },
        { "local header does not match the central directory", RawZip.Of(Entry with { LocalMethod = 0 }) },
        { "local header does not match the central directory", RawZip.Of(Entry with { LocalFlags = 1, CentralFlags = 0 }) },
        { "compression method 12 (bzip2) is not supported", RawZip.Of(Entry with { Method = 12 }) },
        { "compression method 93 (Zstandard) is not supported", RawZip.Of(Entry with { Method = 93 }) },
        { "compression method 9 (Deflate64) is not supported", RawZip.Of(Entry with { Method = 9 }) },
        { "compression method 99 (AES without its parameters) is not supported", RawZip.Of(Entry with { Method = 99 }) },
        { "compression method 4711 is not supported", RawZip.Of(Entry with { Method = 4711 }) },
        { "encrypted in a way that is not supported", RawZip.Of(Entry with { LocalFlags = 0x41 }) },
    };

    [Theory]
    [MemberData(nameof(InvalidHeaders))]
    public void Invalid_header_is_refused_with_the_reason(string reason, byte[] zip)
    {
        var message = Refusal(zip);
        Assert.StartsWith("entry 1 of 1 'e': ", message, StringComparison.Ordinal);
        Assert.Contains(reason, message, StringComparison.Ordinal);
    }

    private static RawZip.Entry Stored(string name, byte[] data) => new(name, data) { Method = 0 };

    private static RawZip.Entry Streamed(byte[] data, byte[]? descriptor, ushort method = 8) => new("i", data)
    {
        Method = method,
        LocalFlags = 8,
        LocalCrc = 0,
        LocalSize = 0,
        LocalCompressed = 0,
        After = descriptor ?? [],
    };

    public static TheoryData<string, byte[]> BadNested => new()
    {
        { "entry 1 of 1 'n/i': its CRC-32 should be 00000007", RawZip.Of(new RawZip.Entry("i", Text) { LocalCrc = 7 }) },
        { "'n/i': it inflates to", RawZip.Of(new RawZip.Entry("i", Text) { LocalSize = 7 }) },
        { "'n/i': its data descriptor doesn't match its data", RawZip.Of(
            Streamed(Text, RawZip.Descriptor(1, RawZip.Deflate(Text).Length, Text.Length))) },
        { "'n/i': its data descriptor doesn't match its data", RawZip.Of(Streamed(Text, null)) },
        { "'n/i': the size of this stored entry follows its data", RawZip.Of(
            Streamed(Text, RawZip.Descriptor(Crc32.HashToUInt32(Text), Text.Length, Text.Length), method: 0)) },
        { "'n/i': compression method 14 (LZMA) is not supported", RawZip.Of(new RawZip.Entry("i", Text) { Method = 14 }) },
        { "'n/i': the archive is encrypted and no password was given", RawZip.Of(new RawZip.Entry("i", Text) { LocalFlags = 1 }) },
        { "'n': the zip within it is cut off: it has no central directory", RawZip.Of(Stored("i", Text))[..(31 + Text.Length)] },
        { "'n/i': cut off: 1 bytes of its data are missing", RawZip.Of(Stored("i", Text))[..(30 + Text.Length)] },
        { "'n': the zip within it is cut off within an entry's header", RawZip.Of(Stored("i", Text))[..20] },
        { "'n/i': cut off: its deflate data ends", RawZip.Of(Streamed(Text, null))[..200] },
        { "expected an entry or the central directory", RawZip.Of(new RawZip.Entry("i", Text) { After = [1, 2, 3, 4] }) },
        { "'n': its gzip CRC-32 should be", Patch(Gzip(Text), ^8) },
        { "'n': its gzip size should be ", Patch(Gzip(Text), ^1) },
        { "'n': cut off", Gzip(Text)[..^9] },
        { "'n': cut off within a gzip header or trailer", Gzip(Text)[..^1] },
        { "'n': cut off within a gzip header or trailer", Gzip(Text)[..8] },
        { "'n': its gzip data is followed by other data", [.. Gzip(Text), 0, 0, 1] },
        { "'n': its gzip header has flags that are not defined", Patch(Gzip(Text), 3) },
        { "'n': its deflate data is damaged", [.. Gzip(Text)[..10], 0xFF, 0xFF] },
    };

    [Theory]
    [MemberData(nameof(BadNested))]
    public void Damaged_nested_archive_is_refused_with_the_reason(string reason, byte[] nested) =>
        AssertRefused(reason, RawZip.Of(Stored("n", nested)));

    [Fact]
    public void Checksum_of_the_outer_entry_is_verified_after_a_nested_archive()
    {
        var inner = RawZip.Of(new RawZip.Entry("i", Text));
        AssertRefused("'n': its CRC-32 should be 00000001", RawZip.Of(new RawZip.Entry("n", inner) { CentralCrc = 1 }));
        AssertRefused("'n': its CRC-32 should be 00000001", RawZip.Of(new RawZip.Entry("n", Gzip(Text)) { CentralCrc = 1 }));
    }

    [Theory]
    [InlineData(true, false)]
    [InlineData(false, false)]
    [InlineData(true, true)]
    [InlineData(false, true)]
    public void Every_form_of_data_descriptor_is_read(bool signature, bool zip64)
    {
        var empty = RawZip.Descriptor(0, 0, 0, signature, zip64);
        var full = RawZip.Descriptor(Crc32.HashToUInt32(Text), RawZip.Deflate(Text).Length, Text.Length, signature, zip64);
        var nested = RawZip.Of(
            Streamed([], empty, method: 0), Streamed(Text, full), Streamed([], [], method: 0), Streamed(
                Bytes("z"), RawZip.Descriptor(Crc32.HashToUInt32("z"u8), 3, 1)));

        Assert.Equal(["n/i", "n/i"], Read(RawZip.Of(Stored("n", nested))).Select(text => text.Name));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(128)]
    [InlineData(256)]
    public void Encrypted_entry_without_the_right_password_is_refused(int aesBits)
    {
        var zip = Encrypted("secret", aesBits, CompressionMethod.Deflated, ("a.csv", Text));

        var none = Refusal(zip);
        Assert.Contains("entry 1 of 1 'a.csv': the archive is encrypted and no password was given", none, StringComparison.Ordinal);
        Assert.Equal(none, Refusal(zip, ""));
        // One byte (two for AES) reveals a wrong password; a password that passes by chance is detected in the data.
        var rejected = 0;
        for (var i = 0; i < 100; i++)
        {
            var wrong = Refusal(zip, $"wrong {i}");
            if (wrong.Contains("the password does not open it", StringComparison.Ordinal))
                rejected++;
            else
                Assert.EndsWith("the password is wrong or the archive is damaged", wrong, StringComparison.Ordinal);
        }
        // A zip with descriptors accepts two values of the byte: more than 5 of 100 pass in one of 6,000 runs, more than 10 never.
        Assert.InRange(rejected, 90, 100);
    }

    [Theory]
    [InlineData(256, CompressionMethod.Deflated)]
    [InlineData(256, CompressionMethod.Stored)]
    public void Flipped_bit_in_aes_data_is_detected(int aesBits, CompressionMethod method)
    {
        var zip = Encrypted("secret", aesBits, method, ("a", Bytes(Lines(8, 12))));
        var (start, compressed, _) = Payload(zip);
        for (var at = start; at < start + compressed; at++)
            Refusal(Patch(zip, at, (byte)(1 << (at % 8))), "secret");
    }

    [Fact]
    public void Encrypted_entries_of_a_nested_zip_are_read_if_their_size_comes_first()
    {
        var expected = System.Text.Encoding.Latin1.GetString(Text);
        var crypto = new MemoryStream();
        using (var zip = ZipFile.Create(crypto))
        {
            zip.IsStreamOwner = false;
            zip.Password = "secret";
            zip.BeginUpdate();
            zip.Add(new Source(Text), new ZipEntry("e"));
            zip.CommitUpdate();
        }
        Assert.Equal([new(0, "n/e", expected)], Read(RawZip.Of(Stored("n", crypto.ToArray())), "secret"));

        var aes = Encrypted("secret", 256, CompressionMethod.Deflated, ("e", Text));
        var (start, compressed, extra) = Payload(aes);
        var entry = new RawZip.Entry("e", Text)
        {
            Method = ZipHeader.AesMethod,
            LocalFlags = 1,
            LocalCrc = 0,
            LocalExtra = extra,
            Compressed = aes[start..(start + compressed)],
        };
        Assert.Equal([new(0, "n/e", expected)], Read(RawZip.Of(Stored("n", RawZip.Of(entry))), "secret"));
        entry = entry with { LocalFlags = 9, LocalSize = 0, After = RawZip.Descriptor(0, compressed, Text.Length) };
        Assert.Equal([new(0, "n/e", expected)], Read(RawZip.Of(Stored("n", RawZip.Of(entry))), "secret"));
        AssertRefused(
            "'n/a': the size of this encrypted entry follows its data",
            RawZip.Of(Stored("n", Encrypted("secret", 0, CompressionMethod.Deflated, false, ("a", Text)))), "secret");
    }

    /// <summary>Returns position and length of the only entry's data, and its AES extra field, as SharpZipLib reads them.</summary>
    private static (int Start, int Length, byte[] Extra) Payload(byte[] zip)
    {
        using var file = new ZipFile(new MemoryStream(zip));
        var start = 30 + BinaryPrimitives.ReadUInt16LittleEndian(zip.AsSpan(26)) + BinaryPrimitives.ReadUInt16LittleEndian(zip.AsSpan(28));
        var extra = zip.AsSpan().IndexOf((ReadOnlySpan<byte>)[0x01, 0x99, 7, 0]);
        return (start, (int)file[0].CompressedSize, extra < 0 ? [] : zip[extra..(extra + 11)]);
    }

    private sealed class Source(byte[] data) : IStaticDataSource
    {
        public Stream GetSource() => new MemoryStream(data);
    }

    private static byte[] Patch(byte[] data, Index at, byte bits = 0x80)
    {
        byte[] patched = [.. data];
        patched[at] ^= bits;
        return patched;
    }
}
