using System.Net;
using DnsClient;
using DnsClient.Protocol;

namespace HibpIngest.Delivery;

/// <summary>
/// Reads the proofs of a domain: TXT records from DNS, and a file from the domain's web server (<see cref="PublicConnections"/>). DNS
/// answers are not cached, so that an owner's change is seen at once. Thread-safe.
/// </summary>
public sealed class DomainRecords : IDomainRecords, IDisposable
{
    private const int Port = 53;

    // The proof is one line. The rest of a longer file is not read.
    private const int MaxFileBytes = 4_096;

    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(5);

    private static readonly TimeSpan FileTimeout = TimeSpan.FromSeconds(10);

    private readonly LookupClient _client;
    private readonly HttpMessageInvoker _http;

    /// <param name="server">The server to ask (HIBP_DNS), as ADDRESS or ADDRESS:PORT. Null for this machine's DNS servers.</param>
    /// <exception cref="BadInputException">The text has another form.</exception>
    public DomainRecords(string? server)
        : this(server, new PublicConnections(allowsLoopback: false).CreateHandler())
    {
    }

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
        : throw new BadInputException(
            "HIBP_DNS: expected ADDRESS or ADDRESS:PORT of a DNS server, such as 192.0.2.53 or [2001:db8::53]:5353, "
            + $"found '{server}'");

    public async Task<IReadOnlyList<string>> ListTextAsync(string domain, CancellationToken cancellationToken)
    {
        try
        {
            var answer = await _client.QueryAsync(domain, QueryType.TXT, QueryClass.IN, cancellationToken);
            if (answer.Header.ResponseCode is not (DnsHeaderResponseCode.NoError or DnsHeaderResponseCode.NotExistentDomain))
                throw new UnavailableException($"DNS lookup failed with response code {answer.Header.ResponseCode}");
            // A text longer than 255 bytes comes in pieces (RFC 7208, 3.3).
            return [.. answer.Answers.OfType<TxtRecord>().Select(record => string.Concat(record.Text))];
        }
        catch (DnsResponseException e)
        {
            throw new UnavailableException($"DNS lookup failed: no response ({e.Code})", e);
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
