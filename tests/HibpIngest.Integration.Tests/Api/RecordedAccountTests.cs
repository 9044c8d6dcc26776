using System.Collections.Concurrent;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>Tests which account is looked up for a request that a Functions host has forwarded.</summary>
public sealed class RecordedAccountTests(WebFixture fixture) : IClassFixture<WebFixture>
{
    [Theory]
    [InlineData(RecordedRequest.Proxying, "path-at-encoded", 404, "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-at-plain", 404, "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-plus", 404, "test+tag@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-plus-encoded", 404, "test+tag@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-upper-path", 404, "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-trailing-slash", 404, "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-query", 404, "test@example.com")]
    [InlineData(RecordedRequest.Proxying, "path-double-encoded", 400, null)] // test%40example.com has no @
    [InlineData(RecordedRequest.Proxying, "path-space-encoded", 404, null)] // no account contains a space
    [InlineData(RecordedRequest.Proxying, "list-account-empty", 400, null)]
    [InlineData(RecordedRequest.Forwarding, "path-at-encoded", 404, "test@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-at-plain", 404, "test@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-plus", 404, "test+tag@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-plus-encoded", 404, "test+tag@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-upper-path", 404, "test@example.com")]
    [InlineData(RecordedRequest.Forwarding, "path-double-encoded", 404, "test@example.com")] // the host has already decoded once
    [InlineData(RecordedRequest.Forwarding, "path-hash-encoded", 400, null)] // truncated to te
    [InlineData(RecordedRequest.Forwarding, "path-question-encoded", 400, null)]
    [InlineData(RecordedRequest.Forwarding, "path-backslash-encoded", 404, null)] // /te/st@example.com: no route
    [InlineData(RecordedRequest.Forwarding, "param-tab", 400, null)]
    public async Task Lookup_uses_the_account_in_the_path_decoded_once(string mode, string recording, int status, string? account)
    {
        var asked = new AskedAccounts();
        await using var web = await WebRig.StartAsync(
            fixture.Pipeline.Connection, replaceServices: services => services.AddSingleton<IAccountReads>(asked));
        var request = RecordedRequest.Of(mode, recording);
        var answer = await RawHttp.SendAsync(web.Address, request with
        {
            Headers = [.. request.Headers.Where(one => one.Name != "User-Agent"), ("User-Agent", "test"), ("hibp-api-key", fixture.Key)],
        });
        Assert.Equal(status, answer.Status);
        Assert.Equal(account is null ? [] : [account], asked.All);
    }

    /// <summary>Finds nothing, and records the requested accounts.</summary>
    private sealed class AskedAccounts : IAccountReads
    {
        public ConcurrentQueue<string> All { get; } = [];

        public Task<IReadOnlyList<int>> GetMarksAsync(Account account, int highestMark, CancellationToken cancellationToken)
        {
            All.Enqueue(account.Address);
            return Task.FromResult<IReadOnlyList<int>>([]);
        }

        public IAsyncEnumerable<AccountEntry> ReadDomainAsync(string domain, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task<bool> HasMoreAccountsAsync(string domain, int than, CancellationToken cancellationToken) =>
            throw new NotSupportedException();
    }
}
