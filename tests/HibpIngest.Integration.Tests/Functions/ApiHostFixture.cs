namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Starts the API's Functions app with only the settings it needs, on an empty storage account.</summary>
public sealed class ApiHostFixture : IAsyncLifetime
{
    private readonly TemporaryFolder _folder = new();

    internal ApiHost Host { get; private set; } = null!;

    internal string Storage { get; private set; } = "";

    public async Task InitializeAsync()
    {
        Storage = await AzuriteFixture.NewAccountAsync();
        Host = await ApiHost.StartAsync(_folder.Path, new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = Storage,
            ["HIBP_TESTACCOUNTS"] = "on",
            ["HIBP_PROXIES"] = "1",
        });
    }

    public async Task DisposeAsync()
    {
        await Host.DisposeAsync();
        _folder.Dispose();
    }
}
