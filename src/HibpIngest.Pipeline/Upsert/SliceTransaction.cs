namespace HibpIngest.Pipeline;

/// <summary>One entity group transaction of a slice.</summary>
/// <param name="OfRanges">Into the table of hashes; false: into that of accounts.</param>
/// <param name="Partition">Its partition.</param>
/// <param name="Rows">Its rows, in <paramref name="Bytes"/>.</param>
/// <param name="Bytes">Holds them; until the slice's buffers are returned.</param>
internal readonly record struct SliceTransaction(
    bool OfRanges, ReadOnlyMemory<byte> Partition, ReadOnlyMemory<Range> Rows, ReadOnlyMemory<byte> Bytes);
