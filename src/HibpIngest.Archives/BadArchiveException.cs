namespace HibpIngest.Archives;

/// <summary>The file can't be read to its end. The message is one line that names the entry and the reason, without an address.</summary>
public sealed class BadArchiveException(string message, Exception? inner = null) : BadInputException(message, inner)
{
    /// <summary>True if the right password would open it.</summary>
    public bool NeedsPassword { get; init; }

    internal static BadArchiveException Damaged(EntryName entry, string reason) =>
        new($"{entry}: {reason}; the archive is damaged or incomplete: drop an intact copy");
}
