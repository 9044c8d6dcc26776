using System.Net;

namespace HibpIngest.Benchmarks;

/// <summary>Requests of one route, each connection's after its own last, of which every answer is counted.</summary>
/// <param name="server">Who is asked.</param>
/// <param name="route">What for.</param>
/// <param name="connections">As many at once.</param>
/// <param name="pause">Of a connection behind each of its answers; zero: none.</param>
internal sealed class AccessLoad(string server, string route, int connections, TimeSpan pause = default)
{
    private int _ok;
    private int _unavailable;
    private int _others;
    private int _failed;

    /// <summary>What is asked for.</summary>
    public string Route => route;

    /// <summary>Answers of 200 whose body came whole.</summary>
    public int Ok => Volatile.Read(ref _ok);

    /// <summary>Answers of 503 that say when to come again.</summary>
    public int Unavailable => Volatile.Read(ref _unavailable);

    /// <summary>Any other answers.</summary>
    public int Others => Volatile.Read(ref _others);

    /// <summary>Requests without an answer.</summary>
    public int Failed => Volatile.Read(ref _failed);

    /// <summary>Asks until it is told to end, and has no request in hand when it returns.</summary>
    public async Task RunAsync(CancellationToken end)
    {
        using var client = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = connections, UseProxy = false });
        client.DefaultRequestHeaders.Add("user-agent", "benchmark");
        await Task.WhenAll(Enumerable.Range(0, connections).Select(_ => Task.Run(() => AskAsync(client, end), CancellationToken.None)));
    }

    /// <summary>Whether a client that asked once was answered so.</summary>
    public static async Task<bool> IsAnsweredAsync(string server, string route, HttpStatusCode status)
    {
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        client.DefaultRequestHeaders.Add("user-agent", "benchmark");
        using var response = await client.GetAsync(server + route);
        return response.StatusCode == status;
    }

    private async Task AskAsync(HttpClient client, CancellationToken end)
    {
        while (!end.IsCancellationRequested)
        {
            try
            {
                using var response = await client.GetAsync(server + route, CancellationToken.None);
                if (response.StatusCode == HttpStatusCode.OK)
                    Interlocked.Increment(ref _ok);
                else if (response.StatusCode == HttpStatusCode.ServiceUnavailable && response.Headers.RetryAfter is not null)
                    Interlocked.Increment(ref _unavailable);
                else
                    Interlocked.Increment(ref _others);
            }
            catch (HttpRequestException)
            {
                Interlocked.Increment(ref _failed);
                return; // the server is dead
            }
            if (pause > TimeSpan.Zero)
                await Task.Delay(pause, CancellationToken.None);
        }
    }
}
