using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>The API's Functions app. Its front end invokes the function and forwards the request, as the host does.</summary>
internal sealed class ApiHost : IAsyncDisposable
{
    /// <summary>The header that joins a request to its invocation.</summary>
    public const string InvocationHeader = "x-ms-invocation-id";

    private const string Function = "Web";

    private readonly Forwarder _forwarder = new();
    private LocalServer _front = null!;

    private ApiHost(FunctionsWorker worker) => Worker = worker;

    public FunctionsWorker Worker { get; }

    public Uri Address => new(_front.Address);

    /// <param name="folder">The parent of its home folder.</param>
    public static async Task<ApiHost> StartAsync(string folder, IReadOnlyDictionary<string, string> settings)
    {
        var host = new ApiHost(await FunctionsWorker.StartAsync(BuiltApp.Folder("HibpIngest.Functions.Api"), folder, settings));
        host._front = await LocalServer.StartAsync(host.ForwardAsync);
        return host;
    }

    /// <summary>Sends a recorded request unchanged, as the host would forward it, and invokes the function with it.</summary>
    public async Task<RawAnswer> SendAsync(RecordedRequest request)
    {
        var id = Guid.NewGuid().ToString();
        var invocation = Worker.InvokeForwardedAsync(Function, id);
        var answer = await RawHttp.SendAsync(
            Worker.HttpAddress!, request with
            {
                Headers = [.. request.Headers.Where(header => header.Name != InvocationHeader), (InvocationHeader, id)],
            });
        var result = await invocation;
        Assert.True(result.Succeeded, $"{result.Error}: {answer}");
        return answer;
    }

    /// <summary>Stops the worker, waits for its end, and returns its exit code.</summary>
    public async Task<int> StopAsync()
    {
        await Worker.TerminateAsync();
        return await Worker.EndAsync();
    }

    public async ValueTask DisposeAsync()
    {
        await _front.DisposeAsync();
        _forwarder.Dispose();
        await Worker.DisposeAsync();
    }

    private async Task ForwardAsync(HttpContext context)
    {
        // A client's own id is kept: the worker then waits for an invocation that never comes.
        var id = Guid.NewGuid().ToString();
        context.Request.Headers.TryAdd(InvocationHeader, id);
        // ASPNETCORE_FORWARDEDHEADERS_ENABLED, as infra/ sets it: the host takes the last entry as the caller's
        // address, and YARP sends only that.
        if (context.Request.Headers["X-Forwarded-For"].LastOrDefault() is { } caller)
            context.Connection.RemoteIpAddress = IPAddress.Parse(caller.Split(',')[^1].Trim());
        var invocation = Worker.InvokeForwardedAsync(Function, id);
        await _forwarder.SendAsync(context, Worker.HttpAddress!.AbsoluteUri);
        await invocation;
    }
}
