using HibpIngest.Api.Settings;
using HibpIngest.Hosting.Web;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Benchmarks;

/// <summary>
/// A server of the small document as a process (this program again), with one way of logging each request. It is
/// stopped on disposal, or killed.
/// </summary>
internal sealed class AccessServer : IAsyncDisposable
{
    public const string Route = "/api/v3/latestbreach";

    // A document of 1.9 KB.
    private const int Sentences = 30;

    // An orderly stop must fit into the 30 seconds that a host allows.
    private static readonly TimeSpan StopTimeout = TimeSpan.FromSeconds(30);

    private readonly Process _process;

    private AccessServer(Process process, string address) => (_process, Address) = (process, address);

    public string Address { get; }

    public double MemoryMiB => ProcessMemory.MiB(_process.Id);

    /// <summary>Starts a server, and returns when it responds.</summary>
    /// <param name="option">The way of logging: one of <see cref="PlainAccessLog"/>'s, ours, or off.</param>
    /// <param name="store">A storage account's or a database's connection string.</param>
    public static async Task<AccessServer> StartAsync(string option, string store)
    {
        var process = MeasuredChild.Start("access-child", option, store);
        var address = await process.StandardOutput.ReadLineAsync()
            ?? throw new InvalidOperationException($"the server of '{option}' did not start");
        return new AccessServer(process, address);
    }

    /// <summary>Runs the server process, which ends when its standard input closes.</summary>
    public static async Task ChildAsync(string option, string store)
    {
        if (option is "ours" or "off")
        {
            await using var server = await WebServer.StartAsync(
                new WebServerOptions { Urls = ["http://127.0.0.1:0"], Web = new WebOptions { AccessLog = option == "ours" } },
                services => services.AddHibpApiStorage(store, [], nearest: null)
                    .AddSingleton<ICatalogueBlobs>(new ReadyCatalogue(1, Sentences)),
                TimeProvider.System, NullLoggerFactory.Instance, CancellationToken.None);
            await RunAsync(server.Addresses[0]);
            return;
        }
        var document = Document();
        await using var log = await PlainAccessLog.OpenAsync(option, store);
        await using var plain = await LocalServer.StartAsync(async context =>
        {
            await log.AppendAsync(new PlainRecord(
                Guid.NewGuid(), Stopwatch.GetTimestamp(), context.Request.Path.Value!, StatusCodes.Status200OK));
            context.Response.ContentType = "application/json; charset=utf-8";
            context.Response.ContentLength = document.Length;
            await context.Response.Body.WriteAsync(document);
        });
        await RunAsync(plain.Address);
    }

    /// <summary>Returns the document's bytes.</summary>
    public static byte[] Document() => new ReadyCatalogue(1, Sentences).Json(CatalogueDocuments.Latest);

    /// <summary>Sends SIGKILL: no pending record is written.</summary>
    public async Task KillAsync()
    {
        _process.Kill();
        await _process.WaitForExitAsync();
    }

    public async ValueTask DisposeAsync()
    {
        if (!_process.HasExited)
        {
            _process.StandardInput.Close();
            using var timeout = new CancellationTokenSource(StopTimeout);
            await _process.WaitForExitAsync(timeout.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (!_process.HasExited)
                await KillAsync();
        }
        _process.Dispose();
    }

    private static async Task RunAsync(string address)
    {
        Console.WriteLine(address);
        await Console.In.ReadToEndAsync();
    }
}
