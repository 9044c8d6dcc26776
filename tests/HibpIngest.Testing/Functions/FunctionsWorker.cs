using System.Net.Sockets;
using System.Text.Json.Nodes;
using System.Threading.Channels;
using Grpc.Core;
using HibpIngest.Testing.Wire;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Testing;

/// <summary>Runs a Functions app as an isolated worker, and drives it as the Functions host does: command line, then gRPC.</summary>
internal sealed class FunctionsWorker : IAsyncDisposable
{
    private const int MaxMessageBytes = 128 * 1024 * 1024;

    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    private readonly string _workerId = Guid.NewGuid().ToString();
    private readonly string _appFolder;
    private readonly Channel<StreamingMessage> _toWorker = Channel.CreateUnbounded<StreamingMessage>();
    private readonly ConcurrentDictionary<string, TaskCompletionSource<StreamingMessage>> _waiting = new();
    private readonly TaskCompletionSource _connected = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly StringBuilder _said = new();
    private readonly Process _process = new() { EnableRaisingEvents = true };
    private WebApplication? _server;
    private Dictionary<string, FunctionMetadata> _functions = [];

    private FunctionsWorker(string appFolder) => _appFolder = appFolder;

    public int ProcessId => _process.HasExited ? throw new WorkerEndedException() : _process.Id;

    /// <summary>Everything that host and worker would log: standard output and error, log lines sent to the host, exceptions.</summary>
    public string Said
    {
        get
        {
            lock (_said)
                return _said.ToString();
        }
    }

    public IReadOnlyDictionary<string, JsonNode> Triggers => _functions.ToDictionary(
        function => function.Key, function => JsonNode.Parse(function.Value.RawBindings[0])!);

    /// <summary>The address of the worker's own server for forwarded requests; null: it has none.</summary>
    public Uri? HttpAddress { get; private set; }

    /// <param name="folder">The parent of its home folder.</param>
    public static async Task<FunctionsWorker> StartAsync(string appFolder, string folder, IReadOnlyDictionary<string, string> settings)
    {
        var worker = new FunctionsWorker(appFolder);
        try
        {
            await worker.ListenAsync();
            worker.StartProcess(folder, settings);
            await worker.LoadAsync();
            return worker;
        }
        catch
        {
            await worker.DisposeAsync();
            throw;
        }
    }

    /// <param name="cancellationToken">Cancels the invocation like a stopping host; its end is awaited all the same.</param>
    public Task<InvocationResult> InvokeAsync(string function, TypedData data, CancellationToken cancellationToken = default) =>
        InvokeAsync(function, Guid.NewGuid().ToString(), data, cancellationToken);

    /// <summary>Runs an HTTP function whose request is forwarded separately under the same id.</summary>
    public Task<InvocationResult> InvokeForwardedAsync(string function, string invocationId) =>
        InvokeAsync(function, invocationId, new TypedData { Http = new Http() }, CancellationToken.None);

    /// <summary>Sends SIGTERM, as the platform does to stop an instance.</summary>
    public Task TerminateAsync() => _process.TerminateAsync();

    public async Task<int> EndAsync()
    {
        await _process.WaitForExitAsync().WaitAsync(TestTimeout);
        return _process.ExitCode;
    }

    public async Task KillAsync()
    {
        _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync();
    }

    public async ValueTask DisposeAsync()
    {
        if (IsStarted && !_process.HasExited)
            await KillAsync();
        _process.Dispose();
        // Exited isn't raised for a process that was disposed before.
        FailWaiting();
        _toWorker.Writer.TryComplete();
        if (_server is not null)
            await _server.DisposeAsync();
    }

    private bool IsStarted { get; set; }

    private async Task<InvocationResult> InvokeAsync(
        string function, string invocationId, TypedData data, CancellationToken cancellationToken)
    {
        var metadata = _functions[function];
        var request = new InvocationRequest
        {
            InvocationId = invocationId,
            FunctionId = metadata.FunctionId,
            TraceContext = new TraceContext { TraceParent = $"00-{ActivityTraceId.CreateRandom()}-{ActivitySpanId.CreateRandom()}-00" },
        };
        request.InputData.Add(new ParameterBinding { Name = (string)JsonNode.Parse(metadata.RawBindings[0])!["name"]!, Data = data });
        await using var cancel = cancellationToken.Register(() => _toWorker.Writer.TryWrite(new StreamingMessage
        {
            InvocationCancel = new InvocationCancel { InvocationId = request.InvocationId },
        }));
        StreamingMessage reply;
        try
        {
            reply = await AskAsync(request.InvocationId, new StreamingMessage { InvocationRequest = request });
        }
        catch (WorkerEndedException e)
        {
            return new InvocationResult(false, e.Message, "", null);
        }
        var (result, response) = (reply.InvocationResponse.Result, reply.InvocationResponse.ReturnValue?.Http);
        if (result.Exception is { } exception)
            Add(exception);
        return new InvocationResult(
            result.Status == StatusResult.Types.Status.Success, result.Exception?.Message ?? "", result.Exception?.StackTrace ?? "",
            response);
    }

    private async Task ListenAsync()
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(
            server => server.Listen(IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http2));
        builder.Services.AddRoutingCore().AddLogging().AddSingleton(this);
        builder.Services.AddGrpc(grpc => (grpc.MaxReceiveMessageSize, grpc.MaxSendMessageSize) = (MaxMessageBytes, MaxMessageBytes));
        _server = builder.Build();
        _server.UseRouting();
        _server.MapGrpcService<WorkerStream>();
        await _server.StartAsync();
    }

    private void StartProcess(string folder, IReadOnlyDictionary<string, string> settings)
    {
        var description = JsonNode.Parse(File.ReadAllText(Path.Combine(_appFolder, "worker.config.json")))!["description"]!;
        var host = new Uri(_server!.Urls.First());
        string[] arguments =
        [
            Path.Combine(_appFolder, (string)description["defaultWorkerPath"]!), "--functions-uri", host.AbsoluteUri,
            "--functions-worker-id", _workerId, "--functions-request-id", Guid.NewGuid().ToString(),
            "--functions-grpc-max-message-length", MaxMessageBytes.ToString(CultureInfo.InvariantCulture),
        ];
        var start = TestProcess.StartOf((string)description["defaultExecutablePath"]!, arguments);
        start.WorkingDirectory = _appFolder;
        start.SetVariables(folder, settings);
        start.Environment["FUNCTIONS_APPLICATION_DIRECTORY"] = start.Environment["FUNCTIONS_WORKER_DIRECTORY"] = _appFolder;
        _process.StartInfo = start;
        _process.OutputDataReceived += (_, e) => Add(e.Data);
        _process.ErrorDataReceived += (_, e) => Add(e.Data);
        _process.Exited += (_, _) => FailWaiting();
        _process.Start();
        IsStarted = true;
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
    }

    private async Task LoadAsync()
    {
        if (await Task.WhenAny(_connected.Task, _process.WaitForExitAsync()).WaitAsync(TestTimeout) != _connected.Task)
            throw new InvalidOperationException($"the worker ended with {await EndAsync()}: {Said}");
        var started = (await AskAsync(new StreamingMessage
        {
            WorkerInitRequest = new WorkerInitRequest
            {
                HostVersion = "4.1037.0",
                FunctionAppDirectory = _appFolder,
                Capabilities = { ["MultiStream"] = bool.TrueString },
            },
        })).WorkerInitResponse;
        if (started.Capabilities.TryGetValue("HttpUri", out var http))
        {
            HttpAddress = new Uri(http);
            await ConnectAsync(HttpAddress);
        }
        var functions = (await AskAsync(new StreamingMessage
        {
            FunctionsMetadataRequest = new FunctionsMetadataRequest { FunctionAppDirectory = _appFolder },
        })).FunctionMetadataResponse;
        _functions = functions.FunctionMetadataResults.ToDictionary(function => function.Name);
        foreach (var function in _functions.Values)
        {
            var loaded = (await AskAsync(new StreamingMessage
            {
                FunctionLoadRequest = new FunctionLoadRequest { FunctionId = function.FunctionId, Metadata = function },
            })).FunctionLoadResponse.Result;
            if (loaded.Status != StatusResult.Types.Status.Success)
                throw new InvalidOperationException($"{function.Name} was not loaded: {loaded.Exception?.Message}");
        }
    }

    /// <summary>The worker's server starts after its stream: a host retries the first connections.</summary>
    private static async Task ConnectAsync(Uri server)
    {
        using var retry = new PeriodicTimer(TimeSpan.FromMilliseconds(50));
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (true)
        {
            using var socket = new TcpClient();
            try
            {
                await socket.ConnectAsync(server.Host, server.Port, timeout.Token);
                return;
            }
            catch (SocketException)
            {
                await retry.WaitForNextTickAsync(timeout.Token);
            }
        }
    }

    private Task<StreamingMessage> AskAsync(StreamingMessage message)
    {
        message.RequestId = Guid.NewGuid().ToString();
        return AskAsync(message.RequestId, message).WaitAsync(TestTimeout);
    }

    private async Task<StreamingMessage> AskAsync(string id, StreamingMessage message)
    {
        var reply = _waiting[id] = new TaskCompletionSource<StreamingMessage>(TaskCreationOptions.RunContinuationsAsynchronously);
        if (_process.HasExited)
            FailWaiting();
        _toWorker.Writer.TryWrite(message);
        return await reply.Task;
    }

    private void FailWaiting()
    {
        foreach (var (id, _) in _waiting)
        {
            if (_waiting.TryRemove(id, out var waiting))
                waiting.TrySetException(new WorkerEndedException());
        }
    }

    private void Receive(StreamingMessage message)
    {
        switch (message.ContentCase)
        {
            case StreamingMessage.ContentOneofCase.StartStream:
                _connected.TrySetResult();
                break;
            case StreamingMessage.ContentOneofCase.RpcLog:
                var log = message.RpcLog;
                Add(string.Create(CultureInfo.InvariantCulture, $"{log.Level} {log.Category}: {log.Message}"));
                if (log.Exception is { } exception)
                    Add(exception);
                break;
            default:
                var id = message.InvocationResponse?.InvocationId ?? message.RequestId;
                if (_waiting.TryRemove(id, out var waiting))
                    waiting.TrySetResult(message);
                break;
        }
    }

    private void Add(Failure exception) => Add($"{exception.Type}: {exception.Message}{Environment.NewLine}{exception.StackTrace}");

    private void Add(string? line)
    {
        if (line is null)
            return;
        lock (_said)
            _said.AppendLine(line);
    }

    private sealed class WorkerStream(FunctionsWorker worker) : FunctionRpc.FunctionRpcBase
    {
        public override async Task EventStream(
            IAsyncStreamReader<StreamingMessage> requestStream, IServerStreamWriter<StreamingMessage> responseStream,
            ServerCallContext context)
        {
            var sending = SendAsync();
            try
            {
                await foreach (var message in requestStream.ReadAllAsync(context.CancellationToken))
                    worker.Receive(message);
            }
            catch (Exception e) when (e is IOException or OperationCanceledException)
            {
                // The process has ended.
            }
            worker._toWorker.Writer.TryComplete();
            await sending;

            async Task SendAsync()
            {
                await foreach (var message in worker._toWorker.Reader.ReadAllAsync())
                {
                    try
                    {
                        await responseStream.WriteAsync(message);
                    }
                    catch (Exception e) when (e is InvalidOperationException or IOException)
                    {
                        // The process has ended.
                    }
                }
            }
        }
    }
}

internal sealed class WorkerEndedException() : InvalidOperationException("the worker has ended");

/// <param name="Succeeded">If true, the message may be deleted.</param>
/// <param name="Response">The response of an HTTP trigger that doesn't forward.</param>
internal sealed record InvocationResult(bool Succeeded, string Error, string Stack, Http? Response)
{
    public void AssertDone() => Assert.True(Succeeded, Error);

    /// <summary>Asserts that it failed with one line without an address or a stack, and returns that line.</summary>
    public string AssertFailed()
    {
        Assert.False(Succeeded);
        Assert.Equal("", Stack);
        Assert.True(
            Error.Length > 0 && !Error.Contains('\n', StringComparison.Ordinal) && !Error.Contains('@', StringComparison.Ordinal), Error);
        return Error;
    }
}
