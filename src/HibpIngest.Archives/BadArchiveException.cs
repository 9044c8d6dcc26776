namespace HibpIngest.Archives;

/// <summary>
/// The file can't be read to its end: another format than its name says, damaged, truncated, encrypted without the right password, an
/// unknown method, or past a limit. The message is one line that names the entry and the reason, without an address.
/// </summary>
public sealed class BadArchiveException(string message, Exception? inner = null) : BadInputException(message, inner)
{
    /// <summary>Whether the right password would open it.</summary>
    public bool NeedsPassword { get; init; }
}
