namespace HibpIngest.Breaches;

/// <summary>
/// Which files of the container are breaches: the one list of extensions, in any case. Whatever else lies there
/// (<c>.json</c> and <c>.png</c> above all) describes a breach or is nothing to us, and starts no load.
/// </summary>
public static class BreachFiles
{
    /// <summary>Of what a breach comes in by default.</summary>
    public const string Zip = ".zip";

    /// <summary>Of metadata; JSON that is data itself is dropped as <see cref="JsonData"/>.</summary>
    public const string Json = ".json";

    /// <summary>What JSON data is uploaded as.</summary>
    public const string JsonData = ".json.gz";

    // One that ends with another comes before it.
    private static readonly (string Extension, BreachFormat Format)[] Known =
    [
        (Zip, BreachFormat.Zip),
        (".tar.gz", BreachFormat.TarGzip), (".tgz", BreachFormat.TarGzip), (".tar", BreachFormat.Tar),
        (".csv.gz", BreachFormat.Gzip), (".txt.gz", BreachFormat.Gzip), (".sql.gz", BreachFormat.Gzip), (JsonData, BreachFormat.Gzip),
        (".gz", BreachFormat.Gzip),
        (".csv", BreachFormat.Text), (".txt", BreachFormat.Text), (".sql", BreachFormat.Text),
    ];

    public static IReadOnlyList<string> Extensions { get; } = [.. Known.Select(known => known.Extension)];

    /// <summary>The fewest endings that they are all found by: what an event filter needs.</summary>
    public static IReadOnlyList<string> Endings { get; } =
        [.. Extensions.Where(one => !Extensions.Any(other => other != one && one.EndsWith(other, StringComparison.Ordinal)))];

    /// <summary>The extension of a blob or file; null: it is no breach.</summary>
    public static string? ExtensionOf(string name) => Find(name)?.Extension;

    /// <summary>How a blob or file is read; null: it is no breach.</summary>
    public static BreachFormat? FormatOf(string name) => Find(name)?.Format;

    private static (string Extension, BreachFormat Format)? Find(string name)
    {
        foreach (var known in Known)
        {
            if (name.EndsWith(known.Extension, StringComparison.OrdinalIgnoreCase))
                return known;
        }
        return null;
    }
}
