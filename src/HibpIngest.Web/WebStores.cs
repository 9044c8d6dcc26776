using HibpIngest.Stores;

namespace HibpIngest.Web;

/// <summary>What the API reads: tables and blobs, never a database.</summary>
public sealed record WebStores
{
    public required ICatalogueBlobs Catalogue { get; init; }

    public required IAccountReads Accounts { get; init; }

    public required IReadLayout Layout { get; init; }

    public required IRangeReads Ranges { get; init; }

    public required IApiKeys Keys { get; init; }
}
