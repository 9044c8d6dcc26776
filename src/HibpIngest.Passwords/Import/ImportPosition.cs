namespace HibpIngest.Passwords.Import;

/// <summary>The read position within the inputs, and the counts up to there.</summary>
/// <param name="Input">Ordinal of the input; the number of inputs at the end.</param>
/// <param name="Entry">In a zip, the top-level entry that contains the text.</param>
/// <param name="Text">Ordinal of the text within the entry, or within an input that is not a zip.</param>
/// <param name="Offset">Bytes of the text that were processed, decompressed.</param>
/// <param name="TextLines">Lines of the text that were processed.</param>
/// <param name="ZeroRows">Rows skipped in all texts.</param>
internal sealed record ImportPosition(
    int Input, ArchivePosition Entry, int Text, long Offset, long TextLines, long Lines, long ZeroRows)
{
    public static readonly ImportPosition Start = new(0, default, 0, 0, 0, 0, 0);
}
