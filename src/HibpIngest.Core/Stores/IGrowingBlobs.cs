namespace HibpIngest.Stores;

/// <summary>Blobs that are only ever added to, by many at once.</summary>
public interface IGrowingBlobs
{
    /// <summary>Puts bytes behind those of a blob that is only ever added to, which is made where there is none.</summary>
    /// <returns>How often it was added to by now; the service takes 50,000 times
    /// (learn.microsoft.com/rest/api/storageservices/append-block).</returns>
    Task<int> AppendAsync(string name, ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken);

    /// <summary>What a blob that is only ever added to holds from there on; empty: nothing yet. Null: there is no blob.</summary>
    Task<ReadOnlyMemory<byte>?> ReadFromAsync(string name, long offset, int most, CancellationToken cancellationToken);
}
