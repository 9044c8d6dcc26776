namespace HibpIngest.Archives;

/// <summary>
/// A decoder met what it can't read. It knows the reason but not the entry: who reads the entry makes a
/// <see cref="BadArchiveException"/> of it.
/// </summary>
internal sealed class DamagedDataException(string reason, Exception? inner = null) : Exception(reason, inner)
{
    /// <summary>Becomes <see cref="BadArchiveException.NeedsPassword"/>.</summary>
    public bool NeedsPassword { get; init; }
}
