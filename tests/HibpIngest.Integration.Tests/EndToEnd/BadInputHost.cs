namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// One <c>hibp run</c> with stores of its own, a key for passwords, and batches so small that rows are copied before
/// an archive's damage is found. All inputs of <see cref="BadInputTests"/> are uploaded to it at once, with two
/// subscribers who must not be notified.
/// </summary>
public sealed class BadInputHost : CommandTestBase
{
    private HibpProcess? _host;

    /// <summary>The result of each <c>hibp drop --wait</c>, by the breach's name.</summary>
    public Dictionary<string, HibpResult> Drops { get; } = [];

    /// <summary>The output of <c>hibp run</c> so far.</summary>
    public string Said => _host!.Error;

    public string MailFolder => Path.Combine(Folder.Path, "mail");

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        Variables["HIBP_SECRET_KEY"] = Convert.ToBase64String(RandomNumberGenerator.GetBytes(32));
        Variables["HIBP_BATCHROWS"] = "20";
        Variables["HIBP_SLICEROWS"] = "10";
        (await HibpAsync(
            "subscribers", "import",
            Write("subscribers.csv", "email,domain\nuser0@example.com,\nowner@example.net,example.com\n"u8.ToArray()))).Succeeded();
        _host = await StartAsync("ready", "run");

        var others = UploadOthersAsync();
        var drops = BadInputTests.Archives.Select(archive => (archive.Key, Result: DropAsync(archive.Key, archive.Value))).ToList();
        foreach (var (name, result) in drops)
            Drops[name] = await result;
        await others;
        var failing = string.Join(' ', Drops.Keys.Select(name => $"{name}.zip").Concat(BadInputTests.Uploads.Select(upload => upload.Blob)
            .Where(blob => blob.EndsWith(".zip", StringComparison.Ordinal))).Order(StringComparer.Ordinal));
        Assert.Equal(failing, await Probe.AskUntilAsync(failing, async () => string.Join(' ', (await JsonAsync("status")).List("loads")
            .Where(load => load.Text("state") == "failed").Select(load => load.Text("blob")).Order(StringComparer.Ordinal))));
    }

    public Task<HibpResult> HibpAsync(params string[] arguments) => RunAsync(arguments);

    public string Write(string name, byte[] content) => Folder.Write(name, content);

    public override async Task DisposeAsync()
    {
        if (_host is not null)
            await _host.DisposeAsync();
        await base.DisposeAsync();
    }

    private Task<HibpResult> DropAsync(string name, BadInputTests.Archive archive) =>
        RunAsync(
            ["drop", Write(name + ".zip", archive.Make()), "--wait", "--json", .. archive.Password is null
                ? Array.Empty<string>() : ["--password", archive.Password]]);

    private async Task UploadOthersAsync()
    {
        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        foreach (var (blob, content) in BadInputTests.Uploads)
        {
            if (blob.EndsWith(".json", StringComparison.Ordinal))
                await account.Blobs.WriteSmallAsync(blob, content, None);
            else
                await account.Blobs.UploadAsync(blob, new MemoryStream(content), null, None);
        }
    }
}
