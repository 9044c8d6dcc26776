using System.Buffers.Text;
using HibpIngest.People;

namespace HibpIngest.Tests.People;

public sealed class LinkTokensTests
{
    private static readonly Guid Id = Guid.Parse("00112233-4455-6677-8899-aabbccddeeff");
    private static readonly DateTimeOffset Now = new(2026, 11, 27, 12, 0, 0, TimeSpan.Zero);

    [Fact]
    public void Token_holds_version_purpose_id_expiry_and_a_signature_over_them()
    {
        var token = Tokens("a").Create(LinkPurpose.Verify, Id, Now);

        Assert.Equal(LinkTokens.Length, token.Length);
        var bytes = Base64Url.DecodeFromChars(token);
        Assert.Equal("0102" + "00112233445566778899AABBCCDDEEFF" + "6B0970C0", Convert.ToHexString(bytes[..22]));
        // As another program would compute it: the key's bytes, and the text before the token's first 22 bytes.
        var expected = HMACSHA256.HashData(Key("a"), (byte[])[.. "hibp link "u8, .. bytes[..22]]);
        Assert.Equal(expected[..16], bytes[22..]);
    }

    [Fact]
    public void Token_works_for_its_purpose_until_it_expires()
    {
        var tokens = Tokens("a");
        var verify = tokens.Create(LinkPurpose.Verify, Id, Now);
        Assert.Equal(Id, tokens.Read(verify, LinkPurpose.Verify, Now));
        Assert.Null(tokens.Read(verify, LinkPurpose.Verify, Now.AddSeconds(1)));
        Assert.Null(tokens.Read(verify, LinkPurpose.Unsubscribe, Now));
        var unsubscribe = tokens.Create(LinkPurpose.Unsubscribe, Id);
        Assert.Equal(Id, tokens.Read(unsubscribe, LinkPurpose.Unsubscribe, Now.AddYears(50)));
        Assert.Equal(unsubscribe, tokens.Create(LinkPurpose.Unsubscribe, Id));
        Assert.Null(tokens.Read(unsubscribe, LinkPurpose.Verify, Now));
    }

    [Fact]
    public void Token_with_any_changed_bit_has_no_effect()
    {
        var tokens = Tokens("a");
        var token = Base64Url.DecodeFromChars(tokens.Create(LinkPurpose.Verify, Id, Now));
        for (var bit = 0; bit < token.Length * 8; bit++)
        {
            token[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.Null(tokens.Read(Base64Url.EncodeToString(token), LinkPurpose.Verify, Now.AddYears(-1)));
            token[bit / 8] ^= (byte)(1 << (bit % 8));
        }
        foreach (var text in (string?[])[null, "", "x", new string('A', LinkTokens.Length), new string('!', LinkTokens.Length)])
            Assert.Null(tokens.Read(text, LinkPurpose.Verify, Now));
    }

    [Fact]
    public void First_key_signs_and_older_ones_are_accepted_for_as_long_as_their_purpose_allows()
    {
        var (verify, unsubscribe) = (Tokens("a").Create(LinkPurpose.Verify, Id, Now), Tokens("a").Create(LinkPurpose.Unsubscribe, Id));
        Assert.Equal(Id, Tokens("b", "a").Read(verify, LinkPurpose.Verify, Now));
        Assert.Null(Tokens("c", "b", "a").Read(verify, LinkPurpose.Verify, Now));
        Assert.Equal(Id, Tokens("d", "c", "b", "a").Read(unsubscribe, LinkPurpose.Unsubscribe, Now));
        Assert.Null(Tokens("b").Read(unsubscribe, LinkPurpose.Unsubscribe, Now));
        Assert.NotEqual(unsubscribe, Tokens("b", "a").Create(LinkPurpose.Unsubscribe, Id));
    }

    [Fact]
    public void Record_proves_one_domain_to_one_key_of_an_api()
    {
        var record = Tokens("a").RecordOf("hash", "example.com");
        var expected = HMACSHA256.HashData(Key("a"), (byte[])[.. "hibp domain hash example.com"u8]);
        Assert.Equal($"hibp-verify=dweb_{Convert.ToHexStringLower(expected[..16])}", record);
        Assert.True(Tokens("b", "a").Proves(record, "hash", "example.com"));
        Assert.False(Tokens("c", "b", "a").Proves(record, "hash", "example.com"));
        Assert.False(Tokens("a").Proves(record, "other", "example.com"));
        Assert.False(Tokens("a").Proves(record, "hash", "example.org"));
        Assert.False(Tokens("a").Proves("", "hash", "example.com"));
    }

    [Theory]
    [InlineData("AAAA")]
    [InlineData("no base64")]
    [InlineData("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,AAAA")]
    public void Wrong_keys_are_refused_by_name(string keys) =>
        Assert.Contains("HIBP_LINK_KEYS", Assert.Throws<BadInputException>(() => LinkTokens.Parse(keys)).Message, StringComparison.Ordinal);

    private static LinkTokens Tokens(params string[] keys) =>
        LinkTokens.Parse(string.Join(", ", keys.Select(key => Convert.ToBase64String(Key(key)))))!;

    private static byte[] Key(string name) => SHA256.HashData(System.Text.Encoding.UTF8.GetBytes(name));
}
