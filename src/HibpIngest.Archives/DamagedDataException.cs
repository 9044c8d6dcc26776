namespace HibpIngest.Archives;

/// <summary>
/// A decoder's error. It has the reason but not the entry: the reader of the entry turns it into a <see cref="BadArchiveException"/>.
/// </summary>
internal sealed class DamagedDataException(string reason, Exception? inner = null) : Exception(reason, inner)
{
    /// <summary>Becomes <see cref="BadArchiveException.NeedsPassword"/>.</summary>
    public bool NeedsPassword { get; init; }
}
