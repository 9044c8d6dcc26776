using System.Net;
using DnsClient;
using DnsClient.Protocol;

namespace HibpIngest.Delivery;

/// <summary>Asks the DNS, past any cache: an owner changes a record and expects it to be seen. Thread-safe.</summary>
public sealed class DnsRecords : IDomainRecords
{
    private const int Port = 53;

    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(5);

    private readonly LookupClient _client;

    /// <param name="server">The server to ask (HIBP_DNS), as ADDRESS or ADDRESS:PORT; null: those of this machine.</param>
    /// <exception cref="BadInputException">The text has another form.</exception>
    public DnsRecords(string? server)
    {
        var options = server is null ? new LookupClientOptions() : new LookupClientOptions(Parse(server));
        (options.UseCache, options.Timeout, options.Retries, options.ContinueOnDnsError) = (false, Timeout, 1, true);
        _client = new LookupClient(options);
    }

    /// <exception cref="BadInputException">The text is no server.</exception>
    public static NameServer Parse(string server) => IPAddress.TryParse(server, out var address) ? new NameServer(address, Port)
        : IPEndPoint.TryParse(server, out var end) ? new NameServer(end)
        : throw new BadInputException("HIBP_DNS is expected to be the address of a DNS server, as in 192.0.2.53 or [2001:db8::53]:5353; "
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
}
