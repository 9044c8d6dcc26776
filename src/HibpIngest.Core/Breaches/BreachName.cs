using System.Text.RegularExpressions;

namespace HibpIngest.Breaches;

/// <summary>Derives the name of a breach from the name of its blob.</summary>
public static partial class BreachName
{
    /// <summary>Maximum length in characters; the name is a key in SQL.</summary>
    public const int MaxLength = 100;

    /// <summary>
    /// Returns the last path segment without its extension (<see cref="BreachFiles"/>) and without a trailing <c>.N</c>:
    /// <c>2013/Adobe.2.zip</c> and <c>Adobe.tar.gz</c> belong to the breach Adobe.
    /// </summary>
    /// <exception cref="BadInputException">The name yields no breach.</exception>
    public static string FromBlob(string blob)
    {
        CheckBlob(blob);
        var name = TrailingNumber().Replace(Stem(blob), "");
        Check(name);
        return name;
    }

    /// <summary>
    /// Returns the names of the metadata blobs for a breach's blob, highest precedence first: <c>Adobe.2.json</c>, then <c>Adobe.json</c>,
    /// in the same folder.
    /// </summary>
    public static IReadOnlyList<string> MetadataBlobs(string blob)
    {
        var folder = blob[..(blob.LastIndexOf('/') + 1)];
        var stem = Stem(blob);
        string[] stems = [stem, TrailingNumber().Replace(stem, "")];
        return [.. stems.Distinct().Select(name => $"{folder}{name}{BreachFiles.Json}")];
    }

    /// <summary>
    /// Returns the names of the logo blobs: those of <see cref="MetadataBlobs"/> with <c>.png</c> instead of <c>.json</c>.
    /// </summary>
    public static IReadOnlyList<string> LogoBlobs(string blob) =>
        [.. MetadataBlobs(blob).Select(name => Path.ChangeExtension(name, ".png"))];

    /// <summary>Returns whether <see cref="CheckBlob"/> rejects a blob. Such a name must not be sent in a message.</summary>
    public static bool IsRefused(string blob) => NameText.HoldsAt(blob) || NameText.HoldsControl(blob);

    /// <summary>Rejects a blob whose name or folder may be an email address or can't be displayed.</summary>
    /// <exception cref="BadInputException">The name holds an @ (in any encoding) or a control character.</exception>
    public static void CheckBlob(string blob)
    {
        // Blob names, including folders, are logged.
        if (NameText.HoldsAt(blob))
        {
            throw new BadInputException(
                "a breach's name and its folders must not contain an @ or an encoded one (such as %40); rename the file or the folder");
        }
        if (NameText.HoldsControl(blob))
        {
            throw new BadInputException($"'{NameText.Escape(blob)}': a breach's name and its folders must not contain control characters; "
                + "rename the file or the folder");
        }
    }

    /// <exception cref="BadInputException">The name is empty, too long, or holds a character that is not allowed.</exception>
    public static void Check(string name)
    {
        if (name.Length is 0 or > MaxLength)
            throw new BadInputException($"a breach's name: expected 1 to {MaxLength} characters, found {name.Length}");
        // An @ could make the name an address, and names are logged.
        if (NameText.HoldsAt(name) || name.AsSpan().IndexOfAny("/\\\"'<>") >= 0 || name.Any(char.IsControl))
        {
            throw new BadInputException(
                "a breach's name must not contain an @ or an encoded one (such as %40), / \\ \" ' < > or control characters; "
                + "rename the file or the breach");
        }
    }

    private static string Stem(string blob)
    {
        var file = blob[(blob.LastIndexOf('/') + 1)..];
        return BreachFiles.ExtensionOf(file) is { } extension
            ? file[..^extension.Length]
            : throw new BadInputException($"a breach is a file whose name ends in {string.Join(", ", BreachFiles.Endings)}");
    }

    [GeneratedRegex(@"(?<=.)\.[0-9]+\z", RegexOptions.CultureInvariant, matchTimeoutMilliseconds: 1000)]
    private static partial Regex TrailingNumber();
}
