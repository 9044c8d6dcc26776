using System.IO.Pipelines;

namespace HibpIngest.Api.Pages;

internal sealed class DomainAccountsReader(BreachedAccounts accounts, DomainSizes sizes)
{
    private const int FlushBytes = 32 * 1024;

    public ValueTask<bool> IsTooLargeAsync(string domain, CancellationToken cancellationToken) =>
        sizes.IsTooLargeAsync(domain, cancellationToken);

    /// <returns>Null if the domain is too large (HIBP_DOMAINMAX).</returns>
    public async Task<DomainAccounts?> ReadAsync(string domain, CancellationToken cancellationToken)
    {
        if (await IsTooLargeAsync(domain, cancellationToken))
            return null;
        var (count, byName) = (0, new Dictionary<string, DomainBreach>(StringComparer.Ordinal));
        await foreach (var (alias, breaches) in accounts.ReadDomainAsync(domain, cancellationToken))
        {
            count++;
            foreach (var breach in breaches)
            {
                if (!byName.TryGetValue(breach.Model.Name, out var found))
                    byName.Add(breach.Model.Name, found = new DomainBreach(breach.Model));
                found.Add(alias);
            }
        }
        return new DomainAccounts(count, [.. byName.Values.OrderByDescending(one => one.Breach.BreachDate)
            .ThenBy(one => one.Breach.Title, StringComparer.OrdinalIgnoreCase)]);
    }

    public async Task WriteCsvAsync(string domain, PipeWriter body, CancellationToken cancellationToken)
    {
        Encoding.UTF8.GetBytes("email,breach,date\r\n", body);
        await foreach (var (alias, breaches) in accounts.ReadDomainAsync(domain, cancellationToken))
        {
            var mark = CsvText.IsFormula(alias) ? "'" : "";
            foreach (var breach in breaches)
                Encoding.UTF8.GetBytes($"{mark}{alias}@{domain},{breach.Model.Name},{breach.Model.BreachDate:yyyy-MM-dd}\r\n", body);
            if (body.UnflushedBytes >= FlushBytes)
                await body.FlushAsync(cancellationToken);
        }
        await body.FlushAsync(cancellationToken);
    }
}

/// <summary>The accounts of a domain by breach.</summary>
/// <param name="Accounts">Number of accounts that are in a breach.</param>
/// <param name="Breaches">The newest first.</param>
public sealed record DomainAccounts(int Accounts, IReadOnlyList<DomainBreach> Breaches);

/// <summary>A breach, and the accounts of a domain that are in it.</summary>
public sealed class DomainBreach(PublicBreach breach)
{
    /// <summary>Maximum number of aliases listed per breach; the CSV has all.</summary>
    public const int MaxListed = 200;

    private readonly List<string> _listed = [];

    public PublicBreach Breach => breach;

    public int Count { get; private set; }

    /// <summary>The first <see cref="MaxListed"/> aliases.</summary>
    public IReadOnlyList<string> Listed => _listed;

    internal void Add(string alias)
    {
        if (Count++ < MaxListed)
            _listed.Add(alias);
    }
}
