namespace HibpIngest.Pipeline.Catalogue;

// Event ids 1900-1999; a contract.
public sealed partial class PublishCatalogue
{
    [LoggerMessage(
        EventIds.PublishCataloguePublished, LogLevel.Information,
        "catalogue: version {Version} published ({Breaches} breaches, {Written} blobs written, {Deleted} deleted)")]
    private partial void LogPublished(long version, int breaches, int written, int deleted);

    [LoggerMessage(
        EventIds.PublishCatalogueBehind, LogLevel.Warning,
        "catalogue: publishing failed, the previous version stays in use; the next sweep retries: {Reason}")]
    internal partial void LogBehind(string reason);

    [LoggerMessage(EventIds.PublishCatalogueBadLogo, LogLevel.Warning, "catalogue: logo '{Blob}' left out: {Reason}")]
    private partial void LogBadLogo(string blob, string reason);

    [LoggerMessage(
        EventIds.PublishCatalogueRestored, LogLevel.Warning,
        "catalogue: version {Found} is newer than the database's {Version} (restored from a backup); merging it into the database")]
    private partial void LogRestored(long found, long version);
}
