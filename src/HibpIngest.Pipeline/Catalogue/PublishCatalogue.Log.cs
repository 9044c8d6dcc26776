using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1900-1999; a contract.
public sealed partial class PublishCatalogue
{
    [LoggerMessage(
        EventIds.PublishCataloguePublished, LogLevel.Information,
        "the catalogue is at version {Version}: {Breaches} breaches, {Written} blobs written, {Deleted} deleted")]
    private partial void LogPublished(long version, int breaches, int written, int deleted);

    [LoggerMessage(
        EventIds.PublishCatalogueBehind, LogLevel.Warning,
        "the catalogue could not be published, and shows what it did before; the next sweep tries again: {Reason}")]
    internal partial void LogBehind(string reason);

    [LoggerMessage(EventIds.PublishCatalogueBadLogo, LogLevel.Warning, "the logo '{Blob}' is left out: {Reason}")]
    private partial void LogBadLogo(string blob, string reason);

    [LoggerMessage(
        EventIds.PublishCatalogueRestored, LogLevel.Warning,
        "the catalogue is of version {Found} and the database of {Version}: it was put back to a backup, and is moved on")]
    private partial void LogRestored(long found, long version);
}
