namespace HibpIngest.Tests;

public sealed class SecretKeysTests
{
    private static readonly string First = Convert.ToBase64String([.. Enumerable.Range(0, 32).Select(i => (byte)i)]);
    private static readonly string Second = Convert.ToBase64String([.. Enumerable.Range(32, 32).Select(i => (byte)i)]);

    [Fact]
    public void The_first_key_seals_and_every_key_opens()
    {
        using var old = SecretKeys.Parse(First)!;
        using var both = SecretKeys.Parse($"{Second}, {First}")!;
        using var changed = SecretKeys.Parse(Second)!;
        var before = old.Seal("secret"u8, "client 1"u8);
        var after = both.Seal("secret"u8, "client 1"u8);
        Assert.Equal("secret"u8, both.Open(before, "client 1"u8)!);
        Assert.Equal("secret"u8, both.Open(after, "client 1"u8)!);
        Assert.Equal("secret"u8, changed.Open(after, "client 1"u8)!);
        Assert.Null(changed.Open(before, "client 1"u8));
        Assert.Null(old.Open(after, "client 1"u8));
    }

    [Fact]
    public void Open_requires_the_same_context_and_unmodified_bytes()
    {
        using var keys = SecretKeys.Parse(First)!;
        var sealedText = keys.Seal("secret"u8, "client 1"u8);
        Assert.Null(keys.Open(sealedText, "client 2"u8));
        for (var i = 0; i < sealedText.Length; i++)
        {
            sealedText[i] ^= 1;
            Assert.Null(keys.Open(sealedText, "client 1"u8));
            sealedText[i] ^= 1;
        }
        Assert.Null(keys.Open(sealedText.AsSpan(0, 27), "client 1"u8));
        Assert.Null(keys.Open([], "client 1"u8));
    }

    [Fact]
    public void Open_reads_the_original_format_and_Seal_uses_a_new_nonce_each_time()
    {
        // Archive passwords had this format when there was only one key: nonce, tag, text.
        using var aes = new AesGcm(Convert.FromBase64String(First), 16);
        var nonce = RandomNumberGenerator.GetBytes(12);
        var (text, tag) = (new byte[6], new byte[16]);
        aes.Encrypt(nonce, "secret"u8, text, tag, "A.zip\n\"1\""u8);
        using var keys = SecretKeys.Parse(First)!;
        Assert.Equal("secret"u8, keys.Open([.. nonce, .. tag, .. text], "A.zip\n\"1\""u8)!);
        Assert.NotEqual(keys.Seal("secret"u8, [])[..12], keys.Seal("secret"u8, [])[..12]);
    }

    [Theory]
    [InlineData("short")]
    [InlineData("AAAA")]
    [InlineData("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,")]
    [InlineData("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,short")]
    public void Malformed_keys_are_rejected_without_being_echoed(string text)
    {
        var refused = Assert.Throws<BadInputException>(() => SecretKeys.Parse(text));
        Assert.Contains("HIBP_SECRET_KEY", refused.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("short", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Parse_returns_null_for_an_empty_setting()
    {
        Assert.Null(SecretKeys.Parse(null));
        Assert.Null(SecretKeys.Parse(""));
    }
}
