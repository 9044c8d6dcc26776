using System.Net;
using Azure.Core;
using Azure.Identity;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Azure.Connections;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Tests.AzureStorage;

/// <summary>
/// Tests a storage account with token authentication: what an unavailable token means before the account's first
/// response and after it.
/// </summary>
public sealed class TokenTests
{
    private static readonly StorageOptions Quick = new() { MaxRetries = 1, RetryDelay = TimeSpan.FromMilliseconds(5) };

    [Fact]
    public async Task Missing_token_before_the_first_response_is_refused()
    {
        var network = new Network(HttpStatusCode.OK);
        using var store = Open(network, new Tokens { Fails = true });
        foreach (var call in Calls(store))
        {
            var error = await Assert.ThrowsAsync<StoreRefusedException>(call);
            Assert.Contains(
                "no token for the storage account (the metadata service does not answer)", error.Message, StringComparison.Ordinal);
        }
        Assert.Equal(0, network.Requests);
    }

    [Theory]
    [InlineData(HttpStatusCode.OK)]
    [InlineData(HttpStatusCode.NotFound)]
    public async Task Missing_token_after_a_response_is_an_outage(HttpStatusCode answer)
    {
        var tokens = new Tokens();
        using var store = Open(new Network(answer), tokens);
        await Record.ExceptionAsync(Calls(store)[0]);
        tokens.Fails = true;
        foreach (var call in Calls(store))
        {
            var error = await Assert.ThrowsAsync<UnavailableException>(call);
            Assert.Contains(
                "no token for the storage account at present (the metadata service does not answer)", error.Message,
                StringComparison.Ordinal);
        }
        // And back to normal.
        tokens.Fails = false;
        Assert.IsNotType<UnavailableException>(await Record.ExceptionAsync(Calls(store)[0]));
    }

    [Theory]
    [InlineData(HttpStatusCode.Unauthorized)]
    [InlineData(HttpStatusCode.Forbidden)]
    [InlineData(HttpStatusCode.ServiceUnavailable)]
    public async Task Missing_token_after_only_401_403_or_503_is_still_refused(HttpStatusCode answer)
    {
        var tokens = new Tokens();
        using var store = Open(new Network(answer), tokens);
        await Assert.ThrowsAnyAsync<HibpException>(Calls(store)[0]);
        tokens.Fails = true;
        await Assert.ThrowsAsync<StoreRefusedException>(Calls(store)[0]);
    }

    private static StorageAccount Open(Network network, TokenCredential credential) => StorageAccount.Open(
        "someaccount", NullLoggerFactory.Instance,
        new StorageOptions { Credential = credential, MaxRetries = Quick.MaxRetries, RetryDelay = Quick.RetryDelay }, network);

    /// <summary>One call per service, and both ways to the tables.</summary>
    private static Func<Task>[] Calls(StorageAccount store) =>
    [
        () => store.Register.GetIdentityAsync(CancellationToken.None),
        () => store.Table.UpsertAsync("example.com", 1, "anna", "bert"),
        () => store.Blobs.FindAsync("a.zip", CancellationToken.None),
        () => store.Queues.Get("breach-slices").SendAsync("{}", TimeSpan.Zero, CancellationToken.None),
    ];

    /// <summary>Responds to everything with one status.</summary>
    private sealed class Network(HttpStatusCode status) : HttpMessageHandler
    {
        private int _requests;

        public int Requests => _requests;

        protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            Interlocked.Increment(ref _requests);
            return Task.FromResult(new HttpResponseMessage(status) { Content = new StringContent("{}") });
        }
    }

    /// <summary>Tokens that expire at once, so that each request gets one.</summary>
    private sealed class Tokens : TokenCredential
    {
        public bool Fails { get; set; }

        public override AccessToken GetToken(TokenRequestContext requestContext, CancellationToken cancellationToken) =>
            Fails ? throw new CredentialUnavailableException("the metadata service does not answer\r\nand more")
            : new AccessToken("a-token", DateTimeOffset.UnixEpoch);

        public override ValueTask<AccessToken> GetTokenAsync(TokenRequestContext requestContext, CancellationToken cancellationToken) =>
            new(GetToken(requestContext, cancellationToken));
    }
}
