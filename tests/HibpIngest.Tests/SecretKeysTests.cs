using System.Security.Cryptography;

namespace HibpIngest.Tests;

/// <summary>Tests sealing with HIBP_SECRET_KEY, and opening with it.</summary>
public sealed class SecretKeysTests
{
    private static readonly string First = Convert.ToBase64String([.. Enumerable.Range(0, 32).Select(i => (byte)i)]);
    private static readonly string Second = Convert.ToBase64String([.. Enumerable.Range(32, 32).Select(i => (byte)i)]);

    [Fact]
    public void The_first_key_seals_and_all_open()
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
    public void It_opens_for_what_it_was_sealed_for_and_unchanged_only()
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
    public void What_is_sealed_is_what_it_always_was()
    {
        // As archive passwords were sealed when there was only one key: nonce, tag, text.
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
    public void What_is_no_key_is_refused_and_not_repeated(string text)
    {
        var refused = Assert.Throws<BadInputException>(() => SecretKeys.Parse(text));
        Assert.Contains("HIBP_SECRET_KEY", refused.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("short", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void There_may_be_none()
    {
        Assert.Null(SecretKeys.Parse(null));
        Assert.Null(SecretKeys.Parse(""));
    }
}
