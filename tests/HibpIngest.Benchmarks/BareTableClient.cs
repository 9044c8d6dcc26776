using System.Net.Http.Headers;

namespace HibpIngest.Benchmarks;

/// <summary>Sends signed requests to a table service with a bare HttpClient, and reads the responses to the end.</summary>
internal sealed class BareTableClient : IDisposable
{
    private readonly HttpClient _http;
    private readonly string _account;
    private readonly byte[] _key;
    private readonly string _server;

    public BareTableClient(string connection, int connections)
    {
        var settings = ConnectionStrings.Settings(connection);
        _http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = connections, UseProxy = false });
        _account = settings["AccountName"];
        _key = Convert.FromBase64String(settings["AccountKey"]);
        _server = new Uri(settings["TableEndpoint"]).GetLeftPart(UriPartial.Authority);
    }

    public async Task SendAsync(TableRequest recorded, CancellationToken cancellationToken)
    {
        using var request = new HttpRequestMessage(new HttpMethod(recorded.Method), _server + recorded.Path)
        {
            Content = new ByteArrayContent(recorded.Body),
        };
        if (recorded.ContentType is not null)
            request.Content.Headers.ContentType = MediaTypeHeaderValue.Parse(recorded.ContentType);
        var date = TimeProvider.System.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
        var signature = HMACSHA256.HashData(_key, Encoding.UTF8.GetBytes($"{date}\n/{_account}{recorded.Path}"));
        request.Headers.TryAddWithoutValidation(
            "Authorization", $"SharedKeyLite {_account}:{Convert.ToBase64String(signature)}");
        request.Headers.Add("x-ms-date", date);
        request.Headers.Add("x-ms-version", "2019-02-02");
        foreach (var (name, value) in new[] { ("Accept", recorded.Accept), ("Prefer", recorded.Prefer),
                ("DataServiceVersion", recorded.DataServiceVersion) })
        {
            if (value is not null)
                request.Headers.TryAddWithoutValidation(name, value);
        }
        using var response = await _http.SendAsync(request, cancellationToken);
        response.EnsureSuccessStatusCode();
        await response.Content.CopyToAsync(Stream.Null, cancellationToken);
    }

    public void Dispose() => _http.Dispose();
}
