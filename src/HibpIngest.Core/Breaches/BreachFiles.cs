namespace HibpIngest.Breaches;

/// <summary>
/// Decides by extension (ignoring case) which files of the container are breaches. All other files start no load; <c>.json</c> and
/// <c>.png</c> files describe a breach.
/// </summary>
public static class BreachFiles
{
    public const string Zip = ".zip";

    /// <summary>Metadata. JSON that is itself breach data is dropped as <see cref="JsonData"/>.</summary>
    public const string Json = ".json";
    public const string JsonData = ".json.gz";

    // An extension that ends with another one comes before it.
    private static readonly (string Extension, BreachFormat Format)[] Known =
    [
        (Zip, BreachFormat.Zip),
        (".tar.gz", BreachFormat.TarGzip), (".tgz", BreachFormat.TarGzip), (".tar", BreachFormat.Tar),
        (".csv.gz", BreachFormat.Gzip), (".txt.gz", BreachFormat.Gzip), (".sql.gz", BreachFormat.Gzip), (JsonData, BreachFormat.Gzip),
        (".gz", BreachFormat.Gzip),
        (".csv", BreachFormat.Text), (".txt", BreachFormat.Text), (".sql", BreachFormat.Text),
    ];

    public static IReadOnlyList<string> Extensions { get; } = [.. Known.Select(known => known.Extension)];

    /// <summary>The smallest set of endings that matches all extensions, for event filters.</summary>
    public static IReadOnlyList<string> Endings { get; } =
        [.. Extensions.Where(one => !Extensions.Any(other => other != one && one.EndsWith(other, StringComparison.Ordinal)))];

    /// <summary>Returns the extension of a breach's blob or file.</summary>
    /// <returns>Null if the file is not a breach.</returns>
    public static string? ExtensionOf(string name) => Find(name)?.Extension;

    /// <summary>Returns the format of a breach's blob or file.</summary>
    /// <returns>Null if the file is not a breach.</returns>
    public static BreachFormat? FormatOf(string name) => Find(name)?.Format;

    private static (string Extension, BreachFormat Format)? Find(string name) =>
        Array.FindIndex(Known, known => name.EndsWith(known.Extension, StringComparison.OrdinalIgnoreCase)) is >= 0 and var index
            ? Known[index] : null;
}

/// <summary>Format of a dropped file, decided by its name: <see cref="BreachFiles"/>.</summary>
public enum BreachFormat
{
    /// <summary>Entries in directory order, each readable without the entries before it.</summary>
    Zip,

    /// <summary>One text or archive, read forward.</summary>
    Gzip,

    /// <summary>Consecutive entries, each found without reading the entries before it.</summary>
    Tar,

    /// <summary>A tar read forward: resuming within it inflates everything before.</summary>
    TarGzip,

    /// <summary>Uncompressed text, split into parts that are readable independently.</summary>
    Text,
}
