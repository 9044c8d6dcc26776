namespace HibpIngest.Pipeline.Upsert;

/// <param name="Layout">Place of its layout in the set.</param>
/// <param name="OfRanges">Whether it goes to the table of hashes instead of that of accounts.</param>
/// <param name="StorageAccount">Number of the storage account.</param>
/// <param name="Rows">Its row keys, as ranges in <paramref name="Bytes"/>.</param>
/// <param name="Bytes">Valid until the slice's buffers are returned.</param>
internal readonly record struct SliceTransaction(
    int Layout, bool OfRanges, int StorageAccount, ReadOnlyMemory<byte> Partition, ReadOnlyMemory<Range> Rows, ReadOnlyMemory<byte> Bytes);
