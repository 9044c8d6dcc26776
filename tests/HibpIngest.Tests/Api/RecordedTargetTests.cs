using HibpIngest.Api.Requests;

namespace HibpIngest.Tests.Api;

/// <summary>
/// Tests that the account in a forwarded path is decoded exactly once. A row has the mode of the host
/// (enableProxyingHttpRequest in host.json), the recorded request, and the expected account. That may differ from
/// the client's, since a host may have removed a layer of its encoding, added one, or truncated it.
/// </summary>
public sealed class RecordedTargetTests
{
    [Theory]
    // Proxying: as requested.
    [InlineData(RecordedRequest.Proxying, "path-at-encoded", "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-at-plain", "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-backslash-encoded", @"te\st@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-double-encoded", "test%40example.com")]
    [InlineData(RecordedRequest.Proxying, "path-double-encoded-slash", "te%2Fst@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-hash-encoded", "te#st@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-idn", "test@bücher.example")]
    [InlineData(RecordedRequest.Proxying, "path-percent-bad", "a%zzb@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-percent-bare", "100%@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-percent-encoded", "100%@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-plus", "test+tag@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-plus-encoded", "test+tag@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-query", "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-question-encoded", "te?st@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-space-encoded", "te st@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-trailing-slash", "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-upper-path", "Test@Example.COM")]
    [InlineData(RecordedRequest.Proxying, "path-utf8-encoded", "müller@example.com")]
    [InlineData(RecordedRequest.Proxying, "list-account-backslash", @"..\..\..\UpsertSlice")]
    [InlineData(RecordedRequest.Proxying, "list-account-empty", "")]
    // Proxying: %2F and invalid UTF-8 arrive encoded twice.
    [InlineData(RecordedRequest.Proxying, "path-slash-encoded", "te%2Fst@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-slash-encoded-lower", "te%2fst@example.com")]
    [InlineData(RecordedRequest.Proxying, "list-account-encoded-slash", "a%2Fb@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-utf8-bad", "m%FCller@example.com")]
    // Forwarding: as requested.
    [InlineData(RecordedRequest.Forwarding, "path-at-encoded", "test@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-at-plain", "test@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-idn", "test@bücher.example")]
    [InlineData(RecordedRequest.Forwarding, "path-percent-bad", "a%zzb@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-percent-bare", "100%@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-percent-encoded", "100%@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-plus", "test+tag@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-plus-encoded", "test+tag@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-query", "test@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-slash-encoded", "te/st@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-slash-encoded-lower", "te/st@example.com")]
    [InlineData(RecordedRequest.Forwarding, "list-account-encoded-slash", "a/b@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-space-encoded", "te st@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-trailing-slash", "test@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-upper-path", "Test@Example.COM")]
    [InlineData(RecordedRequest.Forwarding, "path-utf8-bad", "m\uFFFDller@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-utf8-encoded", "müller@example.com")]
    [InlineData(RecordedRequest.Forwarding, "param-colon", "http://x")]
    [InlineData(RecordedRequest.Forwarding, "param-dot-end", "a.")]
    [InlineData(RecordedRequest.Forwarding, "param-dots-slash-double", "../breaches")]
    [InlineData(RecordedRequest.Forwarding, "param-tab", "\ta")]
    [InlineData(RecordedRequest.Forwarding, "list-account-empty", "")]
    // Forwarding: a layer less, a segment more, or truncated.
    [InlineData(RecordedRequest.Forwarding, "path-double-encoded", "test@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-double-encoded-slash", "te/st@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-backslash-encoded", "te")]
    [InlineData(RecordedRequest.Forwarding, "path-hash-encoded", "te")]
    [InlineData(RecordedRequest.Forwarding, "path-question-encoded", "te")]
    [InlineData(RecordedRequest.Forwarding, "param-space-trail", "a")]
    [InlineData(RecordedRequest.Forwarding, "param-hash-only", "")]
    [InlineData(RecordedRequest.Forwarding, "param-question-only", "")]
    [InlineData(RecordedRequest.Forwarding, "param-question", "a")]
    public void An_account_is_decoded_exactly_once(string mode, string recording, string account)
    {
        const int AccountAt = 3; // /api/v3/breachedaccount/{account}
        var target = RequestTarget.Parse(RecordedRequest.Of(mode, recording).Target);
        Assert.Equal("api/v3/breachedaccount", $"{target[0]}/{target[1]}/{target[2]}", ignoreCase: true);
        Assert.Equal(account, target[AccountAt]);
    }
}
