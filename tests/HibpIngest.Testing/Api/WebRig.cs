using System.IO.Compression;
using System.Security.Cryptography.X509Certificates;
using HibpIngest.Api.Pages;
using HibpIngest.Api.Settings;
using HibpIngest.Delivery;
using HibpIngest.Hosting.Web;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using HibpIngest.Storage.Azure.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Testing;

/// <summary>The API on a port of its own, over stores filled by a whole pipeline.</summary>
internal sealed class WebRig : IAsyncDisposable
{
    private readonly WebServer _server;

    private WebRig(WebServer server, string? thumbprint)
    {
        _server = server;
        // Tests see redirects and cookies as they are.
        var handler = new SocketsHttpHandler { AllowAutoRedirect = false, UseCookies = false };
        handler.SslOptions.RemoteCertificateValidationCallback = (_, theirs, _, _) => theirs!.GetCertHashString() == thumbprint;
        Client = new HttpClient(handler) { BaseAddress = new Uri(server.Addresses[0]) };
    }

    /// <summary>Headers that reveal a proxy, one of each kind.</summary>
    public static readonly (string Name, string Value)[] ProxyHeaders =
    [
        ("X-Forwarded-For", "127.0.0.1"), ("Forwarded", "for=127.0.0.1"), ("X-Real-IP", "127.0.0.1"), ("Via", "1.1 proxy"),
        ("X-Forwarded-Host", "localhost"), ("x-forwarded-proto", "https"),
    ];

    /// <summary>Has no default headers: each request sets its own.</summary>
    public HttpClient Client { get; }

    public Uri Address => Client.BaseAddress!;

    public IServiceProvider Services => _server.Services;

    private IApiKeys Keys => Services.GetRequiredService<IApiKeys>();

    public static async Task<WebRig> StartAsync(
        string connection, bool isOpen = false, Action<WebOptions>? configure = null, ILoggerFactory? logs = null,
        TimeProvider? time = null, Action<IServiceCollection>? replaceServices = null, PasswordOptions? passwords = null,
        string? dns = null, bool isHttps = false)
    {
        using var folder = new TemporaryFolder();
        using var certificate = isHttps ? SmtpTestServer.CreateCertificate() : null;
        // The access log is on only in its own tests, so that other tests' stores stay unchanged.
        var web = new WebOptions { AccessLog = false };
        configure?.Invoke(web);
        passwords ??= new PasswordOptions();
        var server = await WebServer.StartAsync(
            new WebServerOptions
            {
                Urls = [isHttps ? "https://127.0.0.1:0" : "http://127.0.0.1:0"],
                CertificateFile = certificate is null ? null : folder.Write(
                    "api.pem", $"{certificate.ExportCertificatePem()}\n{certificate.GetECDsaPrivateKey()!.ExportPkcs8PrivateKeyPem()}"),
                IsOpen = isOpen,
                Address = "https://api.example",
                Web = web,
                Passwords = passwords,
            },
            services =>
            {
                services.AddHibpApiStorage(connection, [], passwords.PasswordsNearest, new StorageOptions { MaxRetries = 0 })
                    .AddHibpDns(dns).AddSingleton<IStartupFilter, DisposedLimiters>();
                replaceServices?.Invoke(services);
            },
            time ?? TimeProvider.System, logs ?? NullLoggerFactory.Instance, CancellationToken.None);
        return new WebRig(server, certificate?.Thumbprint);
    }

    public async Task<string> AddKeyAsync(
        string name, KeyScopes scopes = KeyScopes.Search, int rpm = 60_000, params string[] domains)
    {
        var key = RandomNumberGenerator.GetHexString(32, lowercase: true);
        await Keys.CreateAsync(CancellationToken.None);
        await Keys.AddAsync(
            new ApiKey
            {
                Hash = HashOf(key),
                Name = name,
                Rpm = rpm,
                Scopes = scopes,
                Domains = domains,
                CreatedAt = DateTimeOffset.UnixEpoch
            },
            CancellationToken.None);
        return key;
    }

    public Task RemoveKeyAsync(string key) => Keys.RemoveAsync(HashOf(key), CancellationToken.None);

    public Task<WebReply> GetAsync(
        string path, string? key = null, string method = "GET", string? agent = "test", params (string Name, string Value)[] headers) =>
        SendAsync(method, path, content: null, key, agent, headers);

    public Task<WebReply> PostAsync(string path, HttpContent content, params (string Name, string Value)[] headers) =>
        SendAsync("POST", path, content, key: null, "test", headers);

    /// <summary>Returns the header for searches, with the ticket of the home page.</summary>
    public async Task<(string Name, string Value)> GetTicketAsync(params (string Name, string Value)[] headers) => (
        SearchEndpoints.TicketHeader,
        (await GetAsync("/", headers: headers)).Text.Split("<meta name=\"ticket\" content=\"")[1].Split('"')[0]);

    /// <summary>Posts a form, as a browser does.</summary>
    /// <param name="form">Encoded.</param>
    public async Task<WebReply> PostFormAsync(string path, string form, params (string Name, string Value)[] headers)
    {
        using var content = new StringContent(form, Encoding.ASCII, "application/x-www-form-urlencoded");
        return await PostAsync(path, content, headers);
    }

    public async Task<WebReply> SendAsync(
        string method, string path, HttpContent? content, string? key, string? agent, (string Name, string Value)[] headers)
    {
        var uri = new Uri(Address.AbsoluteUri.TrimEnd('/') + path, KeepPathAsWritten);
        using var request = new HttpRequestMessage(new HttpMethod(method), uri)
        {
            Content = content,
        };
        if (agent is not null)
            request.Headers.TryAddWithoutValidation("User-Agent", agent);
        if (key is not null)
            request.Headers.TryAddWithoutValidation("hibp-api-key", key);
        foreach (var (name, value) in headers)
            request.Headers.TryAddWithoutValidation(name, value);
        using var response = await Client.SendAsync(request);
        return await WebReply.ReadAsync(response);
    }

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await _server.DisposeAsync();
    }

    // Sends the path exactly as written.
    private static readonly UriCreationOptions KeepPathAsWritten = new() { DangerousDisablePathAndQueryCanonicalization = true };

    private static string HashOf(string key) => Convert.ToHexStringLower(SHA256.HashData(Encoding.ASCII.GetBytes(key)));
}

internal sealed record WebReply(int Status, IReadOnlyDictionary<string, string> Headers, byte[] Body)
{
    public static async Task<WebReply> ReadAsync(HttpResponseMessage response) => new(
        (int)response.StatusCode,
        response.Headers.Concat(response.Content.Headers).ToDictionary(
            header => header.Key, header => string.Join(", ", header.Value), StringComparer.OrdinalIgnoreCase),
        await response.Content.ReadAsByteArrayAsync());

    public string Text => Encoding.UTF8.GetString(Body);

    /// <summary>The text of a gzip body.</summary>
    public string Unzipped
    {
        get
        {
            using var reader = new StreamReader(new GZipStream(new MemoryStream(Body), CompressionMode.Decompress));
            return reader.ReadToEnd();
        }
    }

    public JsonElement Json => JsonElement.Parse(Body);

    public string Header(string name) => Headers.GetValueOrDefault(name, "");

    public string[] Names => [.. Json.EnumerateArray().Select(breach => breach.GetProperty("Name").GetString()!)];

    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Status}: {Text}");
}
