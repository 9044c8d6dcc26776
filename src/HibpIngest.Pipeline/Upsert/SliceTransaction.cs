namespace HibpIngest.Pipeline;

/// <summary>One entity group transaction of a slice.</summary>
/// <param name="Layout">Place of its layout in the set.</param>
/// <param name="OfRanges">Into the table of hashes; false: into that of accounts.</param>
/// <param name="StorageAccount">Number of the storage account that it goes to.</param>
/// <param name="Rows">Its rows, in <paramref name="Bytes"/>.</param>
/// <param name="Bytes">Holds them; until the slice's buffers are returned.</param>
internal readonly record struct SliceTransaction(
    int Layout, bool OfRanges, int StorageAccount, ReadOnlyMemory<byte> Partition, ReadOnlyMemory<Range> Rows, ReadOnlyMemory<byte> Bytes);
