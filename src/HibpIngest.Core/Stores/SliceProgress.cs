namespace HibpIngest.Stores;

/// <param name="OrderVersion">Version of the order in which transactions are counted; a program with another version starts over.</param>
/// <param name="Done">One bit per transaction; the first one is the lowest bit of byte 0.</param>
public sealed record SliceProgress(int OrderVersion, byte[] Done)
{
    /// <summary>
    /// Version of the set of layouts that the transactions write to; with another version, they are different transactions.
    /// </summary>
    public int LayoutVersion { get; init; }
}
