namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>Sends requests for one route, one after another on each connection, and counts every response.</summary>
/// <param name="pause">Pause of a connection after each response.</param>
internal sealed class AccessLoad(string server, string route, int connections, TimeSpan pause = default)
{
    private int _ok;
    private int _unavailable;
    private int _others;
    private int _failed;

    public string Route => route;

    /// <summary>Responses of 200 with a complete body.</summary>
    public int Ok => Volatile.Read(ref _ok);

    /// <summary>Responses of 503 with a Retry-After header.</summary>
    public int Unavailable => Volatile.Read(ref _unavailable);

    public int Others => Volatile.Read(ref _others);

    /// <summary>Requests without a response.</summary>
    public int Failed => Volatile.Read(ref _failed);

    public bool IsOk => Ok > 0 && Unavailable + Others + Failed == 0;

    public override string ToString() => $"{Route} {Ok} of 200, {Unavailable} of 503, {Others} others, {Failed} failed";

    /// <summary>Sends requests until cancelled; none is open when it returns.</summary>
    public async Task RunAsync(CancellationToken end)
    {
        using var client = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = connections, UseProxy = false });
        client.DefaultRequestHeaders.Add("user-agent", "benchmark");
        await Task.WhenAll(Enumerable.Range(0, connections).Select(_ => Task.Run(() => AskAsync(client, end), None)));
    }

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
                using var response = await client.GetAsync(server + route, None);
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
                await Task.Delay(pause, None);
        }
    }
}
