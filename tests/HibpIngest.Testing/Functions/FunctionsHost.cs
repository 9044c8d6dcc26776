using Azure.Storage.Blobs;
using Azure.Storage.Queues;
using Azure.Storage.Queues.Models;
using Google.Protobuf;
using HibpIngest.Testing.Wire;

namespace HibpIngest.Testing;

/// <summary>
/// The pipeline's Functions app on stores of its own. Its functions are invoked one by one, to see each result, or by
/// <see cref="PumpAsync"/>, which processes the queues by host.json's rules without the retry delay. <see
/// cref="TriggerListeners"/> drives them as a host does.
/// </summary>
internal sealed class FunctionsHost : IAsyncDisposable
{
    private const int MaxDequeueCount = 5;
    private const int BatchSize = 16;

    // Longer than any call in a test takes.
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    private readonly TemporaryFolder _folder = new();
    private readonly string _appFolder;
    private readonly Dictionary<string, string> _variables;
    private TaskCompletionSource _ready = new();
    private string _saidBefore = "";

    private FunctionsHost(string storage, string appFolder, IReadOnlyDictionary<string, string> settings)
    {
        (Storage, _appFolder) = (storage, appFolder);
        _variables = DrivenApp.SettingsOf(storage, _folder.Path, settings);
    }

    public string Storage { get; }

    public string DatabaseFile => Path.Combine(_folder.Path, "hibp.db");

    public string MailFolder => Path.Combine(_folder.Path, "mail");

    public IReadOnlyDictionary<string, string> Variables => _variables;

    public FunctionsWorker Worker { get; private set; } = null!;

    public BlobContainerClient Container => new(Storage, "breach");

    /// <summary>Starts the app on stores of its own, which aren't set up yet except for the upload container.</summary>
    /// <param name="appFolder">A published app; null: the built one.</param>
    public static async Task<FunctionsHost> StartAsync(
        IReadOnlyDictionary<string, string>? settings = null, string? appFolder = null, string? storage = null)
    {
        var host = new FunctionsHost(
            storage ?? await AzuriteFixture.NewAccountAsync(), appFolder ?? BuiltApp.Folder("HibpIngest.Functions"),
            settings ?? new Dictionary<string, string>());
        await host.Container.CreateIfNotExistsAsync();
        await host.StartNextWorkerAsync();
        return host;
    }

    /// <summary>Starts a worker in place of one that has ended, or is killed; optionally with other settings.</summary>
    public async Task StartWorkerAsync(params (string Name, string Value)[] settings)
    {
        foreach (var (name, value) in settings)
            _variables[name] = value;
        if (Worker is not null)
            await Worker.DisposeAsync();
        Worker = await FunctionsWorker.StartAsync(_appFolder, _folder.Path, _variables);
    }

    /// <summary>Completes when there is a worker: a host's triggers wait while it starts another.</summary>
    public Task Ready => _ready.Task;

    public string Said => _saidBefore + Worker.Said;

    /// <summary>Ends the worker; triggers wait until <see cref="StartNextWorkerAsync"/> has started another.</summary>
    public async Task EndWorkerAsync(Func<Task> end)
    {
        _ready = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await end();
        _saidBefore += Worker.Said;
    }

    public async Task StartNextWorkerAsync(params (string Name, string Value)[] settings)
    {
        await StartWorkerAsync(settings);
        _ready.SetResult();
    }

    /// <summary>Stops the worker, and waits for its end; its output is complete only then.</summary>
    public async Task StopWorkerAsync()
    {
        await Worker.TerminateAsync();
        Assert.True(await Worker.EndAsync() == 0, Worker.Said);
    }

    public Task<HibpResult> HibpAsync(params string[] arguments) => HibpInProcess.RunAsync(_folder.Path, _variables, arguments);

    public Task<HibpProcess> StartLocalHostAsync() => HibpProcess.StartAsync(_folder.Path, _variables, "ready", "run");

    public async Task DropAsync(string blob, byte[] content) => await Container.UploadBlobAsync(blob, new BinaryData(content));

    public async Task<InvocationResult> IngestAsync(string blob, byte[] content)
    {
        await DropAsync(blob, content);
        return await InvokeBlobAsync(blob);
    }

    public Task<InvocationResult> InvokeBlobAsync(string blob, CancellationToken cancellationToken = default) =>
        InvokeBlobAsync("IngestBreach", Container.Name, blob, cancellationToken);

    public async Task<InvocationResult> DropPasswordsAsync(string blob, byte[] content)
    {
        var drops = new BlobContainerClient(Storage, "passwords-import");
        await drops.CreateIfNotExistsAsync();
        await drops.UploadBlobAsync(blob, new BinaryData(content));
        return await InvokeBlobAsync("PlanPasswords", drops.Name, blob, CancellationToken.None);
    }

    public Task<InvocationResult> InvokeMessageAsync(string function, string text, long dequeueCount = 1) =>
        Worker.InvokeAsync(function, BindingOf("AzureStorageQueues", new
        {
            MessageId = Guid.NewGuid().ToString(),
            PopReceipt = "none",
            MessageText = text,
            DequeueCount = dequeueCount,
        }));

    public Task<InvocationResult> InvokeTimerAsync() =>
        Worker.InvokeAsync(
            "Sweep", new TypedData { Json = """{"Schedule":{"AdjustForDST":true},"ScheduleStatus":null,"IsPastDue":false}""" });

    public async Task<HostAnswer> HealthAsync()
    {
        var result = await Worker.InvokeAsync("Health", new TypedData
        {
            Http = new Http { Method = "GET", Url = "http://127.0.0.1/api/health" },
        });
        return new HostAnswer(
            int.Parse(result.Response!.StatusCode, System.Globalization.CultureInfo.InvariantCulture),
            result.Response.Body.Bytes.ToStringUtf8());
    }

    /// <summary>Processes the queues until no message is visible; returns each function's calls, and how many of them failed.</summary>
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

    /// <summary>Returns a queue as any storage tool sees it: bodies are not decoded.</summary>
    public QueueClient Queue(string name) => new(Storage, name);

    public async ValueTask DisposeAsync()
    {
        await Worker.DisposeAsync();
        _folder.Dispose();
    }

    public IEnumerable<(string Function, string Queue)> QueueFunctions() =>
        from trigger in Worker.Triggers
        let queue = (string?)trigger.Value["queueName"]
        where queue is not null
        orderby queue
        select (trigger.Key, queue);

    private Task<InvocationResult> InvokeBlobAsync(string function, string container, string blob, CancellationToken cancellationToken) =>
        Worker.InvokeAsync(function, BindingOf(
            "AzureStorageBlobs", new { Connection = "BreachStorage", ContainerName = container, BlobName = blob }), cancellationToken);

    private static TypedData BindingOf(string source, object content) => new()
    {
        ModelBindingData = new BindingData
        {
            Version = "1.0",
            Source = source,
            ContentType = "application/json",
            Content = ByteString.CopyFrom(JsonSerializer.SerializeToUtf8Bytes(content)),
        },
    };

    private async Task<bool> WorkAsync(string function, QueueClient queue, QueueMessage message)
    {
        // A body that can't be decoded is moved to the poison queue unread.
        var text = Decode(message.Body.ToString());
        var done = text is not null && (await InvokeMessageAsync(function, text, message.DequeueCount)).Succeeded;
        if (!done && text is not null && message.DequeueCount < MaxDequeueCount)
        {
            await queue.UpdateMessageAsync(message.MessageId, message.PopReceipt, (string?)null, TimeSpan.Zero);
            return false;
        }
        if (!done)
        {
            var poison = Queue($"{queue.Name}-poison");
            await poison.CreateIfNotExistsAsync();
            await poison.SendMessageAsync(message.Body.ToString());
        }
        await queue.DeleteMessageAsync(message.MessageId, message.PopReceipt);
        return done;
    }

    private static string? Decode(string body)
    {
        var bytes = new byte[body.Length];
        return Convert.TryFromBase64String(body, bytes, out var length) ? Encoding.UTF8.GetString(bytes, 0, length) : null;
    }
}
