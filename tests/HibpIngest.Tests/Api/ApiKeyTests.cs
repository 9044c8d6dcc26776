namespace HibpIngest.Tests.Api;

/// <summary>Tests the id of a key, which other writers of the table must compute in the same way.</summary>
public sealed class ApiKeyTests
{
    [Theory]
    [InlineData("0123456789abcdef0123456789abcdef")]
    [InlineData("0123456789ABCDEF0123456789ABCDEF")]
    public void HashOf_returns_the_SHA256_of_the_lower_case_key(string key) =>
        // printf 0123456789abcdef0123456789abcdef | sha256sum
        Assert.Equal("3eb1bd439947eb762998e566ccc2e099c791118b2f40579cc4f7da2b5061b7f9", ApiKey.HashOf(key));

    [Theory]
    [InlineData(true, "0123456789abcdef0123456789abcdef", "0123456789ABCDEF0123456789abcdef")]
    [InlineData(
        false, "", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0", "0123456789abcdef0123456789abcdeg",
        " 123456789abcdef0123456789abcdef", "\uFF10123456789abcdef0123456789abcdef")]
    public void A_key_is_32_hex_digits(bool expected, params string[] keys) =>
        Assert.All(keys, key => Assert.Equal(expected, ApiKey.IsWellFormed(key)));
}
