using HibpIngest.Breaches;

namespace HibpIngest.Passwords;

/// <summary>Where in the inputs reading stands, and what has been counted up to there.</summary>
/// <param name="Input">Ordinal of the input; their number at the end.</param>
/// <param name="Entry">Of a zip, the top-level entry that the text lies in.</param>
/// <param name="Text">Ordinal of the text in the entry, or in an input that is no zip.</param>
/// <param name="Offset">Bytes of the text that are done with, inflated.</param>
/// <param name="TextLines">Lines of the text that are done with.</param>
/// <param name="ZeroRows">Rows left out in all.</param>
internal sealed record ImportPosition(
    int Input, ArchivePosition Entry, int Text, long Offset, long TextLines, long Lines, long ZeroRows)
{
    public static readonly ImportPosition Start = new(0, default, 0, 0, 0, 0, 0);
}
