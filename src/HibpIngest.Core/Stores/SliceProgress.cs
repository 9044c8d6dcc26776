namespace HibpIngest.Stores;

/// <param name="OrderVersion">The order that they are counted in: a program of another one starts anew.</param>
/// <param name="Done">A bit for each, the first one's the lowest of byte 0.</param>
public sealed record SliceProgress(int OrderVersion, byte[] Done)
{
    /// <summary>Version of the set of layouts that they write: under another one they are others.</summary>
    public int LayoutVersion { get; init; }
}
