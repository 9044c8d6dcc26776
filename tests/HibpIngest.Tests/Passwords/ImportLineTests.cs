using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Ranges;

namespace HibpIngest.Tests.Passwords;

public sealed class ImportLineTests
{
    private const string Sha1 = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
    private const string Ntlm = "8846F7EAEE8FB117AD06BDD830B7586C";

    public static TheoryData<string, string[]> Texts => new()
    {
        { "", [] },
        { "\n\r\n\r \t\n", [] },
        { $"{Sha1}:7", [$"{Sha1}:7"] },
        { $"{Sha1}:7\n", [$"{Sha1}:7"] },
        { $"{Sha1}:7\r\n{Sha1}:8\r\n", [$"{Sha1}:7", $"{Sha1}:8"] },
        { $"{Sha1}:7\r{Sha1}:8\r", [$"{Sha1}:7", $"{Sha1}:8"] },
        { $"{Sha1}:7\r\r\n\n{Sha1}:8", [$"{Sha1}:7", $"{Sha1}:8"] },
        { $"{Sha1.ToLowerInvariant()}:10\n", [$"{Sha1}:10"] },
        { $"5bAa61E4c9B93f3F0682250b6cF8331b7eE68fD8:10\n", [$"{Sha1}:10"] },
        { $"\uFEFF{Sha1}:1\n\uFEFF{Sha1}:2\r\n\uFEFF\n\uFEFF", [$"{Sha1}:1", $"{Sha1}:2"] },
        { $"{Sha1}:1 \t\n{Sha1}:2 ", [$"{Sha1}:1", $"{Sha1}:2"] },
        { $"{Sha1}:0\n{Sha1}:00\n{Sha1}:3\n{Sha1}:0", [$"{Sha1}:3"] },
        { $"{Sha1}:9223372036854775807\n{Sha1}:000000000000000000000000000012\n", [$"{Sha1}:9223372036854775807", $"{Sha1}:12"] },
        { $"{Sha1}:123456789012345678\n{Sha1}:1234567890123456789\n", [$"{Sha1}:123456789012345678", $"{Sha1}:1234567890123456789"] },
    };

    [Theory]
    [MemberData(nameof(Texts))]
    public void Lines_parse_with_any_line_ending_spelling_and_chunk_size(string text, string[] expected)
    {
        var bytes = Encoding.UTF8.GetBytes(text);
        // Enough bytes follow for the fast path, which reads most lines.
        var tail = Encoding.UTF8.GetBytes($"\r\n{Sha1}:1\r\n{Sha1}:1\r\n");
        for (var piece = 1; piece <= bytes.Length + 1; piece++)
            Assert.Equal(expected, Read(bytes, piece, HashMode.Sha1, out _));
        Assert.Equal([.. expected, $"{Sha1}:1", $"{Sha1}:1"], Read([.. bytes, .. tail], 1 << 20, HashMode.Sha1, out _));
    }

    [Fact]
    public void Ntlm_mode_reads_32_digit_hashes()
    {
        var text = Encoding.UTF8.GetBytes($"{Ntlm}:5\n{Ntlm}:6\r\n{Ntlm}:7");
        Assert.Equal([$"{Ntlm}:5", $"{Ntlm}:6", $"{Ntlm}:7"], Read(text, 1 << 20, HashMode.Ntlm, out var lines));
        Assert.Equal(3, lines.Lines);
    }

    [Theory]
    [InlineData("secret", "found no colon")]
    [InlineData("secret:5", "found a character that is no hex digit in column 1")]
    [InlineData("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FG8:5", "found a character that is no hex digit in column 39")]
    [InlineData(" 5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:5", "found a character that is no hex digit in column 1")]
    [InlineData("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD:5", "found 39 digits before the colon;")]
    [InlineData("8846F7EAEE8FB117AD06BDD830B7586C:5", "found 32 digits before the colon, as mode ntlm has;")]
    [InlineData("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:", "found a count that isn't made of digits alone")]
    [InlineData("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:-5", "found a count that isn't made of digits alone")]
    [InlineData("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:5 5", "found a count that isn't made of digits alone")]
    [InlineData("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:5,000", "found a count that isn't made of digits alone")]
    [InlineData("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9223372036854775808", "found a count above 9223372036854775807")]
    [InlineData("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:99999999999999999999", "found a count above 9223372036854775807")]
    public void A_malformed_line_is_reported_by_number_without_its_content(string line, string expected)
    {
        (string, int)[] places = [("", 1), ($"{Sha1}:1\n\r\n", 3), ($"{Sha1}:1\r{Sha1}:2\r", 3), ($"\r\n\n\r{Sha1}:0\n", 5)];
        foreach (var (before, number) in places)
        {
            var text = Encoding.UTF8.GetBytes($"{before}{line}\r\n{Sha1}:1\n{Sha1}:1\n{Sha1}:1");
            foreach (var piece in new[] { 1, 2, 3, 50, 1 << 20 })
            {
                var message = Assert.Throws<BadInputException>(() => Read(text, piece, HashMode.Sha1, out _)).Message;
                Assert.Contains($"'list.txt', line {number}: expected HASH:COUNT", message, StringComparison.Ordinal);
                Assert.Contains(expected, message, StringComparison.Ordinal);
                Assert.DoesNotContain("secret", message, StringComparison.Ordinal);
                Assert.DoesNotContain("5BAA6", message, StringComparison.Ordinal);
            }
        }
    }

    [Fact]
    public void A_line_above_MaxLineBytes_is_rejected()
    {
        var text = new byte[HashLines.MaxLineBytes + 1];
        text.AsSpan().Fill((byte)'A');
        Assert.Contains(
            "found a line of more than 1,024 bytes",
            Assert.Throws<BadInputException>(() => Read(text, 100, HashMode.Sha1, out _, ends: false)).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Passwords_are_hashed_as_SHA1_and_NTLM()
    {
        var hasher = new PasswordHasher();
        Assert.Equal(Sha1, Hash(HashMode.Sha1, "password"u8));
        Assert.Equal(Ntlm, Hash(HashMode.Ntlm, "password"u8));
        // RFC 1320, for an empty text; and characters of two, three and four bytes, from OpenSSL.
        Assert.Equal("31D6CFE0D16AE931B73C59D7E0C089C0", Hash(HashMode.Ntlm, ""u8));
        Assert.Equal("9F21919B93F3FAAD70DCA0C86ADF53DD", Hash(HashMode.Ntlm, "\u00E9\u20AC\U0001F600"u8));
        Assert.Equal(Hash(HashMode.Ntlm, "p\uFFFDq"u8), Hash(HashMode.Ntlm, [(byte)'p', 0xFF, (byte)'q']));
        Assert.NotEqual(Hash(HashMode.Sha1, "p\uFFFDq"u8), Hash(HashMode.Sha1, [(byte)'p', 0xFF, (byte)'q']));

        string Hash(HashMode mode, ReadOnlySpan<byte> password)
        {
            var hash = new byte[mode.Bytes()];
            hasher.Hash(mode, password, hash);
            return Convert.ToHexString(hash);
        }
    }

    [Fact]
    public void Password_lines_keep_inner_whitespace_and_skip_empty_lines()
    {
        var expected = new[] { "a", " b ", "c\rd", "é", "e" };
        var text = Encoding.UTF8.GetBytes("\uFEFFa\n b \r\nc\rd\n\n\r\né\ne");
        for (var piece = 1; piece <= text.Length + 1; piece++)
        {
            var lines = new PasswordLines("list.txt", 0);
            Assert.Equal(
                expected.SelectMany(password => new[] { HashText.Sha1(password) + ":1", HashText.Ntlm(password) + ":1" }),
                Rows(lines, text, piece, ends: true).Select((row, i) => HashText.Of(row, (HashMode)(i % 2))));
            Assert.Equal(7, lines.Lines);
        }
    }

    [Fact]
    public void HashCount_takes_28_bytes() => Assert.Equal(28, System.Runtime.CompilerServices.Unsafe.SizeOf<HashCount>());

    private static List<string> Read(byte[] text, int piece, HashMode mode, out HashLines lines, bool ends = true)
    {
        lines = new HashLines(mode, "list.txt", 0);
        return [.. Rows(lines, text, piece, ends).Select(row => HashText.Of(row, mode))];
    }

    private static List<HashCount> Rows(ILineReader lines, byte[] text, int piece, bool ends)
    {
        var found = new List<HashCount>();
        var rows = new HashCount[3];
        var (from, to) = (0, 0);
        while (to < text.Length || from < to)
        {
            to = Math.Min(text.Length, to + piece);
            int count;
            do
            {
                (count, var bytes) = lines.Read(text.AsSpan(from..to), ends && to == text.Length, rows);
                found.AddRange(rows[..count]);
                from += bytes;
            }
            while (count + lines.RowsOfLine > rows.Length);
            if (to == text.Length)
                break;
        }
        if (ends)
            Assert.Equal(text.Length, from);
        return found;
    }
}
