namespace HibpIngest.Pipeline.Ingest;

/// <summary>The metadata document next to a dropped file, as far as it applies to the load's breach.</summary>
/// <param name="Document">To be merged into the breach's metadata; null if there is none, or it names another breach.</param>
/// <param name="OtherBreach">The other breach that the document names, if any. The document isn't applied to it: permission to drop a
/// file doesn't include changing another breach.</param>
internal sealed record MetadataFile(ReadOnlyMemory<byte>? Document, string? OtherBreach)
{
    public static async Task<MetadataFile> ReadAsync(IBreachBlobs blobs, string blob, string breach, CancellationToken cancellationToken)
    {
        foreach (var name in BreachName.MetadataBlobs(blob))
        {
            if (await blobs.ReadSmallAsync(name, BreachMetadata.MaxBytes, cancellationToken) is not { } json)
                continue;
            var named = BreachMetadata.Parse(json).Name;
            return named is null || named.Equals(breach, StringComparison.OrdinalIgnoreCase)
                ? new MetadataFile(json, null) : new MetadataFile(null, named);
        }
        return new MetadataFile(null, null);
    }

    public string? HeldBecause(LoadId load) => OtherBreach is null ? null
        : HoldReason.OtherBreach + $"'{OtherBreach}', its file's name says otherwise: hibp breach assign {load} '{OtherBreach}', or fix "
        + "the metadata; then hibp mail release";
}
