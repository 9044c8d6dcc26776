using HibpIngest.Api.Requests;

namespace HibpIngest.Tests.Api;

/// <summary>
/// Requests recorded with enableProxyingHttpRequest in host.json on and off, with the expected account. It may differ
/// from the client's, since a host may have removed a layer of its encoding, added one, or truncated it.
/// </summary>
public sealed class RecordedTargetTests
{
    public static TheoryData<string, string> Proxied => new()
    {
        // As requested.
        { "path-at-encoded", "test@example.com" }, { "path-backslash-encoded", @"te\st@example.com" },
        { "path-double-encoded", "test%40example.com" }, { "path-double-encoded-slash", "te%2Fst@example.com" },
        { "path-hash-encoded", "te#st@example.com" }, { "path-idn", "test@bücher.example" }, { "path-percent-bad", "a%zzb@example.com" },
        { "path-percent-bare", "100%@example.com" }, { "path-plus", "test+tag@example.com" }, { "path-query", "test@example.com" },
        { "path-question-encoded", "te?st@example.com" }, { "path-space-encoded", "te st@example.com" },
        { "path-trailing-slash", "test@example.com" }, { "path-upper-path", "Test@Example.COM" },
        { "path-utf8-encoded", "müller@example.com" }, { "list-account-backslash", @"..\..\..\UpsertSlice" }, { "list-account-empty", "" },
        // %2F and invalid UTF-8 arrive encoded twice.
        { "path-slash-encoded-lower", "te%2fst@example.com" }, { "list-account-encoded-slash", "a%2Fb@example.com" },
        { "path-utf8-bad", "m%FCller@example.com" },
    };

    public static TheoryData<string, string> Forwarded => new()
    {
        // As requested.
        { "path-query", "test@example.com" }, { "path-slash-encoded", "te/st@example.com" },
        { "path-slash-encoded-lower", "te/st@example.com" }, { "list-account-encoded-slash", "a/b@example.com" },
        { "path-utf8-bad", "m\uFFFDller@example.com" }, { "param-colon", "http://x" }, { "param-dot-end", "a." },
        { "param-dots-slash-double", "../breaches" }, { "param-tab", "\ta" },
        // A layer less, a segment more, or truncated.
        { "path-double-encoded", "test@example.com" }, { "path-backslash-encoded", "te" }, { "path-hash-encoded", "te" },
        { "param-space-trail", "a" }, { "param-question-only", "" },
    };

    [Theory]
    [MemberData(nameof(Proxied))]
    public void Account_of_a_proxied_request_is_decoded_exactly_once(string recording, string account) =>
        AssertDecoded(RecordedRequest.Proxying, recording, account);

    [Theory]
    [MemberData(nameof(Forwarded))]
    public void Account_of_a_forwarded_request_is_decoded_exactly_once(string recording, string account) =>
        AssertDecoded(RecordedRequest.Forwarding, recording, account);

    private static void AssertDecoded(string mode, string recording, string account)
    {
        const int AccountAt = 3; // /api/v3/breachedaccount/{account}
        var target = RequestTarget.Parse(RecordedRequest.Of(mode, recording).Target);
        Assert.Equal("api/v3/breachedaccount", $"{target[0]}/{target[1]}/{target[2]}", ignoreCase: true);
        Assert.Equal(account, target[AccountAt]);
    }
}
