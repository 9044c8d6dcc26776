using System.Text.Json.Serialization;

namespace HibpIngest.Breaches;

/// <summary>Names and forms of the catalogue's documents: what the pipeline writes and the lookup reads.</summary>
public static class CatalogueDocuments
{
    /// <summary>Every published, unhidden breach, by title: an array of <see cref="PublicBreach"/>.</summary>
    public const string Breaches = "breaches.json";

    /// <summary>The breach that was added last; <c>null</c> where there is none.</summary>
    public const string Latest = "latestbreach.json";

    /// <summary>All data classes of these breaches, in order: an array of strings.</summary>
    public const string DataClasses = "dataclasses.json";

    /// <summary>Which marks count, and for which breach: <see cref="CatalogueIds"/>. Written last: what it says counts.</summary>
    public const string Ids = "ids.json";

    /// <summary>
    /// A copy of <see cref="Breaches"/> from before a restore, for as long as the restore runs: what readers were shown is merged
    /// into the restored database, also where the restore was interrupted after the catalogue had been written again.
    /// </summary>
    public const string BeforeRestore = "before-restore.json";

    /// <summary>Its logo is <c>logo/{Name}.png</c>.</summary>
    public const string Logos = "logo/";

    /// <summary>A breach alone is <c>breach/{Name}.json</c>.</summary>
    public const string BreachFolder = "breach/";

    public static string Breach(string name) => $"{BreachFolder}{name}.json";

    public static string Logo(string name) => $"{Logos}{name}.png";
}

/// <param name="Version">The catalogue's: raised by each change in SQL.</param>
/// <param name="Breaches">By name; each with a mark at least.</param>
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
