using System.Text.Json.Nodes;
using Azure.Storage.Blobs;
using Azure.Storage.Queues;
using Azure.Storage.Queues.Models;

namespace HibpIngest.Testing;

/// <summary>
/// Plays the Functions host: starts the handler, tells it of blobs, and takes messages off the queues that the
/// function.json files name, by host.json's rules: base64 or poison, deleted when the answer says done, tried
/// five times, then poison. Only the delay between two tries is left out.
/// </summary>
internal sealed class FunctionsHost : IAsyncDisposable
{
    private const int MaxDequeueCount = 5;
    private const int BatchSize = 16;

    // Longer than any call of a test takes.
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    private readonly HttpClient _http = new() { Timeout = TestTimeout };
    private readonly TemporaryFolder _folder = new();
    private readonly Dictionary<string, string> _variables = [];

    private FunctionsHost(string storage)
    {
        Storage = storage;
        _variables["HIBP_STORAGE"] = storage;
        _variables["HIBP_DATABASE"] = DatabaseFile;
        _variables["HIBP_MAIL"] = $"pickup:{MailFolder}";
        _variables["HIBP_MAILSPERSECOND"] = "10000";
        _variables["HIBP_DEDUPECAP"] = "1000000";
    }

    /// <summary>Connection string of the storage account.</summary>
    public string Storage { get; }

    public string DatabaseFile => Path.Combine(_folder.Path, "hibp.db");

    public string MailFolder => Path.Combine(_folder.Path, "mail");

    /// <summary>What a command of <c>hibp</c> needs to work on the same stores.</summary>
    public IReadOnlyDictionary<string, string> Variables => _variables;

    public HandlerProcess Handler { get; private set; } = null!;

    /// <summary>
    /// A handler on stores of its own, which are not set up yet, except for the container that blobs are
    /// dropped into.
    /// </summary>
    /// <param name="published">The executable of a published folder; null: what was built beside the tests.</param>
    public static async Task<FunctionsHost> StartAsync(IReadOnlyDictionary<string, string>? settings = null, string? published = null)
    {
        var host = new FunctionsHost(await AzuriteFixture.NewAccountAsync());
        foreach (var (name, value) in settings ?? new Dictionary<string, string>())
            host._variables[name] = value;
        await host.Container.CreateIfNotExistsAsync();
        await host.StartHandlerAsync(published);
        return host;
    }

    /// <summary>
    /// A handler in place of one that has ended, or is left to itself; with other settings where they are
    /// given.
    /// </summary>
    public async Task StartHandlerAsync(string? published = null, params (string Name, string Value)[] settings)
    {
        foreach (var (name, value) in settings)
            _variables[name] = value;
        if (Handler is not null)
            await Handler.DisposeAsync();
        Handler = await HandlerProcess.StartAsync(published, _folder.Path, _variables);
    }

    /// <summary>Asks the handler to stop, and waits until it has ended; only then all that it said is there.</summary>
    public async Task StopHandlerAsync()
    {
        await Handler.TerminateAsync();
        Assert.Equal(0, await Handler.EndAsync());
    }

    public Task<HibpResult> HibpAsync(params string[] arguments) => HibpProcess.RunAsync(_folder.Path, _variables, arguments);

    public Task<HibpProcess> StartLocalHostAsync() => HibpProcess.StartAsync(_folder.Path, _variables, "ready", "run");

    public async Task DropAsync(string blob, byte[] content) => await Container.UploadBlobAsync(blob, new BinaryData(content));

    /// <summary>Drops a file, and posts the event of it.</summary>
    public async Task<HostAnswer> IngestAsync(string blob, byte[] content)
    {
        await DropAsync(blob, content);
        return await PostBlobAsync(blob);
    }

    /// <summary>The event of a dropped blob.</summary>
    public Task<HostAnswer> PostBlobAsync(string blob, CancellationToken cancellationToken = default) =>
        SendAsync(
            HostRequests.Blob(Handler.Address, "IngestBreach", Container.GetBlobClient(blob).Uri, blob),
            cancellationToken);

    /// <summary>Drops a file of password hashes, and posts the event of it.</summary>
    public async Task<HostAnswer> DropPasswordsAsync(string blob, byte[] content)
    {
        var drops = new BlobContainerClient(Storage, "passwords-import");
        await drops.CreateIfNotExistsAsync();
        await drops.UploadBlobAsync(blob, new BinaryData(content));
        return await SendAsync(HostRequests.Blob(Handler.Address, "PlanPasswords", drops.GetBlobClient(blob).Uri, blob));
    }

    public Task<HostAnswer> PostMessageAsync(string function, string text, long dequeueCount = 1) =>
        SendAsync(HostRequests.Message(Handler.Address, function, text, Guid.NewGuid().ToString(), dequeueCount));

    public Task<HostAnswer> PostTimerAsync() => SendAsync(HostRequests.Timer(Handler.Address, "Sweep"));

    public Task<HostAnswer> HealthAsync() => SendAsync(HostRequests.Health(Handler.Address));

    public async Task<HostAnswer> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken = default)
    {
        using var toDispose = request;
        using var response = await _http.SendAsync(request, cancellationToken);
        return new HostAnswer(
            (int)response.StatusCode, response.Content.Headers.ContentType?.MediaType, await response.Content.ReadAsStringAsync(
                cancellationToken));
    }

    /// <summary>
    /// Works on the queues until nothing visible is in them. Returns how many calls each function got, and how
    /// many of them failed.
    /// </summary>
    /// <param name="only">The one function whose queue it is about; null: all.</param>
    public async Task<Dictionary<string, (int Calls, int Failed)>> PumpAsync(string? only = null)
    {
        var counts = new Dictionary<string, (int Calls, int Failed)>();
        for (var any = true; any;)
        {
            any = false;
            foreach (var (function, queue) in QueueFunctions().Where(one => only is null || one.Function == only))
            {
                var client = Queue(queue);
                if (!await client.ExistsAsync()
                    || await client.ReceiveMessagesAsync(BatchSize, TestTimeout) is not { Value: { Length: > 0 } messages })
                    continue;
                any = true;
                var failed = (await Task.WhenAll(messages.Select(message => WorkAsync(function, client, message)))).Count(done => !done);
                var before = counts.GetValueOrDefault(function);
                counts[function] = (before.Calls + messages.Length, before.Failed + failed);
            }
        }
        return counts;
    }

    /// <summary>A queue as any storage tool sees it: bodies are what is on the wire.</summary>
    public QueueClient Queue(string name) => new(Storage, name);

    /// <summary>The functions with a queue, from their function.json.</summary>
    public static IEnumerable<(string Function, string Queue)> QueueFunctions() =>
        from file in Directory.GetFiles(RepositoryFile.Path("src/HibpIngest.Functions"), "function.json", SearchOption.AllDirectories)
        where !file.Contains($"{Path.DirectorySeparatorChar}bin{Path.DirectorySeparatorChar}", StringComparison.Ordinal)
        let queue = (string?)JsonNode.Parse(File.ReadAllText(file))!["bindings"]![0]!["queueName"]
        where queue is not null
        orderby queue
        select (Path.GetFileName(Path.GetDirectoryName(file)!), queue);

    public async ValueTask DisposeAsync()
    {
        await Handler.DisposeAsync();
        _http.Dispose();
        _folder.Dispose();
    }

    private BlobContainerClient Container => new(Storage, "breach");

    private async Task<bool> WorkAsync(string function, QueueClient queue, QueueMessage message)
    {
        var poison = Queue($"{queue.Name}-poison");
        if (Decode(message.Body.ToString()) is not { } text)
        {
            await poison.CreateIfNotExistsAsync();
            await poison.SendMessageAsync(message.Body.ToString());
            await queue.DeleteMessageAsync(message.MessageId, message.PopReceipt);
            return false;
        }
        var answer = await SendAsync(HostRequests.Message(Handler.Address, function, text, message.MessageId, message.DequeueCount));
        Assert.False(answer.Hangs, $"{function}: {answer}");
        if (!answer.Succeeded && message.DequeueCount < MaxDequeueCount)
        {
            await queue.UpdateMessageAsync(message.MessageId, message.PopReceipt, (string?)null, TimeSpan.Zero);
            return false;
        }
        if (!answer.Succeeded)
        {
            await poison.CreateIfNotExistsAsync();
            await poison.SendMessageAsync(message.Body.ToString());
        }
        await queue.DeleteMessageAsync(message.MessageId, message.PopReceipt);
        return answer.Succeeded;
    }

    private static string? Decode(string body)
    {
        try
        {
            return System.Text.Encoding.UTF8.GetString(Convert.FromBase64String(body));
        }
        catch (FormatException)
        {
            return null;
        }
    }
}
