using HibpIngest.Errors;

namespace HibpIngest.AccountLog;

/// <summary>
/// A segment of the account log is not what its writer sealed: torn, changed, or another one's part. The message names segment,
/// block and offset, what was expected and what was found, and no account.
/// </summary>
public sealed class DamagedSegmentException : HibpException
{
    /// <param name="block">Number of the block within the segment, 0-based; null: header or footer.</param>
    /// <param name="offset">Of the first byte of what is damaged.</param>
    /// <param name="problem">What was expected, and what was found.</param>
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

    /// <summary>Number of the block within the segment, 0-based; null: header or footer.</summary>
    public int? Block { get; }

    /// <summary>Of the first byte of what is damaged.</summary>
    public long Offset { get; }
}
