namespace HibpIngest.Stores;

/// <summary>Append blobs with concurrent writers.</summary>
public interface IGrowingBlobs
{
    /// <summary>Appends bytes to a blob, which is created if it is missing.</summary>
    /// <returns>The number of appends so far; the service allows 50,000
    /// (learn.microsoft.com/rest/api/storageservices/append-block).</returns>
    Task<int> AppendAsync(string name, ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken);

    /// <summary>Returns the content of an append blob from an offset on; empty: nothing yet.</summary>
    /// <returns>Null if there is no blob.</returns>
    Task<ReadOnlyMemory<byte>?> ReadFromAsync(string name, long offset, int most, CancellationToken cancellationToken);
}
