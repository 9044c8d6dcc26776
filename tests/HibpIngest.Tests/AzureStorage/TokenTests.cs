using Azure.Core;
using Azure.Identity;
using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Tests.AzureStorage;

public sealed class TokenTests
{
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
        Assert.Empty(network.Authorizations);
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

    [Fact]
    public async Task Token_of_the_storage_scope_is_sent_as_bearer()
    {
        var network = new Network(HttpStatusCode.NotFound);
        var tokens = new Tokens();
        using var store = Open(network, tokens);
        foreach (var call in Calls(store))
            await Record.ExceptionAsync(call);
        Assert.InRange(network.Authorizations.Count, 5, 10);
        Assert.All(network.Authorizations, authorization => Assert.Equal("Bearer a-token", authorization));
        Assert.Equal(["https://storage.azure.com/.default"], tokens.Scopes.Distinct());
    }

    private static StorageAccount Open(Network network, Tokens tokens) => StorageAccount.Open(
        "someaccount", NullLoggerFactory.Instance,
        new StorageOptions
        {
            Credential = DelegatedTokenCredential.Create((request, _) => tokens.Next(request)),
            MaxRetries = 1,
            RetryDelay = TimeSpan.FromMilliseconds(5),
        }, network);

    /// <summary>One call per service, and each way to the tables.</summary>
    private static Func<Task>[] Calls(StorageAccount store) =>
    [
        () => store.Register.GetIdentityAsync(CancellationToken.None),
        () => store.Table.UpsertAsync("example.com", 1, "anna", "bert"),
        () => store.Accounts.GetMarksAsync(new Account("anna", "example.com"), 1, CancellationToken.None),
        () => store.Blobs.FindAsync("a.zip", CancellationToken.None),
        () => store.Queues.Get("breach-slices").SendAsync("{}", TimeSpan.Zero, CancellationToken.None),
    ];

    /// <summary>Responds to everything with one status.</summary>
    private sealed class Network(HttpStatusCode status) : HttpMessageHandler
    {
        public ConcurrentQueue<string?> Authorizations { get; } = new();

        protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            Authorizations.Enqueue(request.Headers.Authorization?.ToString());
            return Task.FromResult(new HttpResponseMessage(status) { Content = new StringContent("{}") });
        }
    }

    /// <summary>Tokens that expire at once, so that each request gets one.</summary>
    private sealed class Tokens
    {
        public bool Fails { get; set; }

        public ConcurrentQueue<string> Scopes { get; } = new();

        public AccessToken Next(TokenRequestContext request)
        {
            if (Fails)
                throw new CredentialUnavailableException("the metadata service does not answer\r\nand more");
            Scopes.Enqueue(Assert.Single(request.Scopes));
            return new AccessToken("a-token", DateTimeOffset.UnixEpoch);
        }
    }
}
