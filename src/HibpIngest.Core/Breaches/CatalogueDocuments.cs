using System.Text.Json.Serialization;

namespace HibpIngest.Breaches;

/// <summary>Names and forms of the catalogue's documents, which the pipeline writes and lookups read.</summary>
public static class CatalogueDocuments
{
    /// <summary>All published breaches that are not hidden, by title: an array of <see cref="PublicBreach"/>.</summary>
    public const string Breaches = "breaches.json";

    /// <summary>The most recently added breach; JSON <c>null</c> if there is none.</summary>
    public const string Latest = "latestbreach.json";

    /// <summary>All data classes of these breaches, sorted: an array of strings.</summary>
    public const string DataClasses = "dataclasses.json";

    /// <summary>The current marks, by breach: <see cref="CatalogueIds"/>. Written last: writing it makes the change effective.</summary>
    public const string Ids = "ids.json";

    /// <summary>
    /// A copy of <see cref="Breaches"/> from before a restore, kept while the restore runs. The published state is merged into the restored
    /// database, even if the restore was interrupted after the catalogue had been rewritten.
    /// </summary>
    public const string BeforeRestore = "before-restore.json";

    /// <summary>A breach's logo is <c>logo/{Name}.png</c>.</summary>
    public const string Logos = "logo/";

    /// <summary>A single breach is <c>breach/{Name}.json</c>.</summary>
    public const string BreachFolder = "breach/";

    public static string Breach(string name) => $"{BreachFolder}{name}.json";

    public static string Logo(string name) => $"{Logos}{name}.png";
}

/// <param name="Version">Version of the catalogue, raised by each change in SQL.</param>
/// <param name="Breaches">By name, each with at least one mark.</param>
public sealed record CatalogueIds(long Version, IReadOnlyList<CatalogueMarks> Breaches);

/// <summary>The marks of a breach that count.</summary>
/// <param name="Marks">Ascending.</param>
public sealed record CatalogueMarks(string Name, BreachFlags Flags, IReadOnlyList<int> Marks);

[JsonSourceGenerationOptions(WriteIndented = false)]
[JsonSerializable(typeof(IReadOnlyList<PublicBreach>))]
[JsonSerializable(typeof(PublicBreach))]
[JsonSerializable(typeof(IReadOnlyList<string>))]
[JsonSerializable(typeof(CatalogueIds))]
public sealed partial class CatalogueJson : JsonSerializerContext;
