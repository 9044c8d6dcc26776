using HibpIngest.Stores;

namespace HibpIngest.Web;

/// <summary>Who asks.</summary>
/// <param name="Key">Its key; null: none is needed.</param>
internal sealed record Caller(ApiKey? Key)
{
    public static readonly Caller Anybody = new((ApiKey?)null);

    /// <summary>Whether it may be told of all accounts of a domain.</summary>
    public bool Owns(string domain) => Key is null || Key.Domains.Contains(domain, StringComparer.Ordinal);
}
