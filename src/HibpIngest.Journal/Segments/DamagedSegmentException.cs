namespace HibpIngest.Journal.Segments;

/// <summary>
/// A segment of the journal differs from what its writer sealed: torn, changed, or part of another one. The message names no account.
/// </summary>
/// <param name="block">Number of the block within the segment, 0-based. Null if the header or the footer is damaged.</param>
/// <param name="offset">Offset of the first damaged byte.</param>
/// <param name="problem">The expected and the found values.</param>
public sealed class DamagedSegmentException(string segment, int? block, long offset, string problem)
    : HibpException(
        $"segment '{segment}' is damaged in {(block is null ? "its header or footer" : $"block {block}")} at byte {offset}: {problem}; "
        + "if its load's rows are still in SQL, write it again with 'hibp journal write --load LOAD --again', otherwise restore the blob")
{
    public string Segment => segment;

    public int? Block => block;

    public long Offset => offset;
}
