namespace HibpIngest.Integration.Tests.Functions;

/// <summary>The Functions app that is the API, with what that needs and nothing else, on a storage account with nothing in it.</summary>
public sealed class WebHandlerFixture : IAsyncLifetime
{
    private readonly TemporaryFolder _folder = new();

    internal HandlerProcess Handler { get; private set; } = null!;

    internal Uri Address => Handler.Address;

    internal string Storage { get; private set; } = "";

    public async Task InitializeAsync()
    {
        Storage = await AzuriteFixture.NewAccountAsync();
        Handler = await HandlerProcess.StartAsync(null, _folder.Path, new Dictionary<string, string>
        {
            ["HIBP_APP"] = "web",
            ["HIBP_STORAGE"] = Storage,
            ["HIBP_TESTACCOUNTS"] = "on",
            ["HIBP_PROXIES"] = "1",
        });
    }

    public async Task DisposeAsync()
    {
        await Handler.DisposeAsync();
        _folder.Dispose();
    }
}
