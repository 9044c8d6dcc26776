namespace HibpIngest.Journal.Segments;

/// <summary>
/// A segment of the account log differs from what its writer sealed: torn, changed, or part of another one. The message names the segment,
/// the block, the offset, and the expected and found values, but no account.
/// </summary>
public sealed class DamagedSegmentException : HibpException
{
    /// <param name="block">Number of the block within the segment, 0-based; null: header or footer.</param>
    /// <param name="offset">Offset of the first damaged byte.</param>
    /// <param name="problem">The expected and the found values.</param>
    public DamagedSegmentException(string segment, int? block, long offset, string problem)
        : base(
            $"segment '{segment}' is damaged in {(block is null ? "its header or footer" : $"block {block}")} at byte {offset}: {problem}; "
            + "write it again from its load's rows, or restore the blob")
    {
        Segment = segment;
        Block = block;
        Offset = offset;
    }

    public string Segment { get; }

    /// <summary>Number of the block within the segment, 0-based. Null: header or footer.</summary>
    public int? Block { get; }

    /// <summary>Offset of the first damaged byte.</summary>
    public long Offset { get; }
}
