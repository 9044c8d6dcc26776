using HibpIngest.Errors;

namespace HibpIngest.Archives;

/// <summary>
/// The file can't be read to its end: not what its name says, damaged, truncated, encrypted without the right password,
/// of an unknown method, or past a limit. One line that names the entry and the reason; no address is in it.
/// </summary>
public sealed class BadArchiveException(string message, Exception? inner = null) : BadInputException(message, inner)
{
    /// <summary>It is encrypted, and the right password would open it.</summary>
    public bool NeedsPassword { get; init; }
}
