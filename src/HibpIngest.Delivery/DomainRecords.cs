using System.Net;
using System.Text;
using DnsClient;
using DnsClient.Protocol;

namespace HibpIngest.Delivery;

/// <summary>
/// Asks the DNS, past any cache, since an owner changes a record and expects it to be seen, and the domain's web server
/// (<see cref="PublicConnections"/>). Thread-safe.
/// </summary>
public sealed class DomainRecords : IDomainRecords, IDisposable
{
    private const int Port = 53;

    // Of one line; the rest of a longer file is not read.
    private const int MaxFileBytes = 4_096;

    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(5);

    private static readonly TimeSpan FileTimeout = TimeSpan.FromSeconds(10);

    private readonly LookupClient _client;
    private readonly HttpMessageInvoker _http;

    /// <param name="server">The server to ask (HIBP_DNS), as ADDRESS or ADDRESS:PORT; null: those of this machine.</param>
    /// <exception cref="BadInputException">The text has another form.</exception>
    public DomainRecords(string? server)
        : this(server, new PublicConnections(allowsLoopback: false).CreateHandler())
    {
    }

    /// <param name="handler">Connects to web servers.</param>
    internal DomainRecords(string? server, SocketsHttpHandler handler)
    {
        _http = new HttpMessageInvoker(handler);
        var options = server is null ? new LookupClientOptions() : new LookupClientOptions(Parse(server));
        (options.UseCache, options.Timeout, options.Retries, options.ContinueOnDnsError) = (false, Timeout, 1, true);
        _client = new LookupClient(options);
    }

    /// <exception cref="BadInputException">The text is not a server.</exception>
    public static NameServer Parse(string server) => IPAddress.TryParse(server, out var address) ? new NameServer(address, Port)
        : IPEndPoint.TryParse(server, out var end) ? new NameServer(end)
        : throw new BadInputException("HIBP_DNS: expected the address of a DNS server, as in 192.0.2.53 or [2001:db8::53]:5353, "
            + "found something else");

    public async Task<IReadOnlyList<string>> ListTextAsync(string domain, CancellationToken cancellationToken)
    {
        try
        {
            var answer = await _client.QueryAsync(domain, QueryType.TXT, QueryClass.IN, cancellationToken);
            if (answer.Header.ResponseCode is not (DnsHeaderResponseCode.NoError or DnsHeaderResponseCode.NotExistentDomain))
                throw new StoreUnavailableException($"the DNS refuses to look a domain up ({answer.Header.ResponseCode})");
            // A text longer than 255 bytes comes in pieces (RFC 7208, 3.3).
            return [.. answer.Answers.OfType<TxtRecord>().Select(record => string.Concat(record.Text))];
        }
        catch (DnsResponseException e)
        {
            throw new StoreUnavailableException($"the DNS gave no answer ({e.Code})", e);
        }
    }

    // A web server that can't be reached, or answers with an error or a redirect, proves nothing.
    public async Task<IReadOnlyList<string>> ReadFileAsync(string domain, CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(FileTimeout);
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, $"https://{domain}/.well-known/hibp-verify.txt");
            request.Headers.UserAgent.Add(new("HibpIngest", null));
            using var response = await _http.SendAsync(request, limit.Token);
            if (response.StatusCode != HttpStatusCode.OK)
                return [];
            var bytes = new byte[MaxFileBytes];
            await using var content = await response.Content.ReadAsStreamAsync(limit.Token);
            var read = await content.ReadAtLeastAsync(bytes, bytes.Length, throwOnEndOfStream: false, limit.Token);
            return Encoding.UTF8.GetString(bytes.AsSpan(0, read))
                .Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        }
        catch (Exception e) when (e is HttpRequestException or IOException or UriFormatException
            || e is OperationCanceledException && !cancellationToken.IsCancellationRequested)
        {
            return [];
        }
    }

    public void Dispose() => _http.Dispose();
}
