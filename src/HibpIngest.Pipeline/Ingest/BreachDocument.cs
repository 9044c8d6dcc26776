using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>The metadata document beside a dropped file, as far as it may speak for its breach.</summary>
/// <param name="Document">To be merged into the breach's metadata; null: there is none, or it is of another breach.</param>
/// <param name="OtherBreach">The breach that it names where that is another: who may drop a file doesn't say so
/// what becomes of somebody else's breach.</param>
internal sealed record BreachDocument(ReadOnlyMemory<byte>? Document, string? OtherBreach)
{
    /// <summary>Reads what lies beside a dropped file.</summary>
    /// <param name="blob">Name of the file's blob.</param>
    /// <param name="breach">The breach that its load belongs to.</param>
    /// <exception cref="BadInputException">There is a document, and it can't be read.</exception>
    public static async Task<BreachDocument> ReadAsync(IBreachBlobs blobs, string blob, string breach, CancellationToken cancellationToken)
    {
        foreach (var name in BreachName.MetadataBlobs(blob))
        {
            if (await blobs.ReadSmallAsync(name, BreachMetadata.MaxBytes, cancellationToken) is not { } json)
                continue;
            var named = BreachMetadata.Parse(json).Name;
            return named is null || named.Equals(breach, StringComparison.OrdinalIgnoreCase)
                ? new BreachDocument(json, null) : new BreachDocument(null, named);
        }
        return new BreachDocument(null, null);
    }

    /// <summary>Why the load waits for an operator; null: it doesn't.</summary>
    public string? HeldBecause(long load) => OtherBreach is null ? null
        : HoldReason.OtherBreach + $"'{OtherBreach}', its file's name says otherwise: hibp breach assign {load} '{OtherBreach}', or mend "
        + "the metadata; then hibp notify";
}
