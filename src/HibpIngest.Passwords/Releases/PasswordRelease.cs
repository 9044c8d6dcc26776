using System.Text.Json.Serialization;

namespace HibpIngest.Passwords;

/// <summary>
/// What a release holds (<c>release.json</c>): each part is listed once it is whole and was read back. A release without a part is being
/// imported, or deleted.
/// </summary>
public sealed record PasswordRelease
{
    /// <summary>Version of documents, also of a release that has no id.</summary>
    public const int DocumentVersion = 1;

    /// <summary>Version of a release with an id: a program that doesn't know ids would look for its blobs elsewhere.</summary>
    public const int VersionWithId = 2;

    /// <summary>Which form this document has.</summary>
    public int Version { get; init; } = DocumentVersion;

    public required string Name { get; init; }

    /// <summary>Tells releases of the same name apart, and is part of their paths; null: made before there were ids.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? Id { get; init; }

    /// <summary>In a replica, the id of the primary's release that it is a copy of; null: that has none, or this is no copy.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? CopyOf { get; init; }

    /// <summary>Hashes are appended to it, or were left out for want of their mode: no further mode joins it.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingDefault)]
    public bool Appended { get; init; }

    /// <summary>Its deletion has begun; it holds nothing any more.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingDefault)]
    public bool Deleted { get; init; }

    [JsonIgnore]
    public ReleaseKey Key => new(Name, Id);

    /// <summary>When its first import began.</summary>
    public required DateTimeOffset CreatedAt { get; init; }

    /// <summary>What it is made of, in the order in which it came.</summary>
    public required IReadOnlyList<ReleasePart> Parts { get; init; }

    public IEnumerable<ReleasePart> PartsOf(PasswordBackend backend) => Parts.Where(part => part.Backend == backend);

    /// <summary>A mode's part that is read fastest; null: it is without that mode.</summary>
    internal ReleasePart? BestOf(HashMode mode) => Parts.Where(part => part.Mode == mode).MaxBy(part => part.Backend);
}

/// <summary>One mode of a release, in one back end.</summary>
/// <param name="Sum">Of all rows (<see cref="RowSum"/>), in 16 hex digits.</param>
/// <param name="ETag">Of the part's index (pack) or list of ranges (blob, table): the version that counts.</param>
public sealed record ReleasePart(
    PasswordBackend Backend, HashMode Mode, long Rows, string Sum, string ETag, DateTimeOffset CompletedAt)
{
    /// <summary>Tells by which import it came (<see cref="HashImport.Source"/>); null: that can't be told.</summary>
    public string? Source { get; init; }
}

/// <summary>Which release is served (<c>current.json</c>).</summary>
public sealed record CurrentRelease
{
    public int Version { get; init; } = PasswordRelease.DocumentVersion;

    public required ServedRelease Served { get; init; }

    /// <summary>What was served before; null: nothing.</summary>
    public ServedRelease? Before { get; init; }

    /// <summary>The release that was served last from each back end, for who is told to read from one.</summary>
    public required IReadOnlyList<ServedRelease> ByBackend { get; init; }

    public required DateTimeOffset ChangedAt { get; init; }

    /// <summary>What a server reads that is told to read from one back end; null: it was never switched to.</summary>
    public ServedRelease? Of(PasswordBackend? backend) =>
        backend is null ? Served : ByBackend.FirstOrDefault(one => one.Backend == backend);

    internal static CurrentRelease After(CurrentRelease? before, ServedRelease served, DateTimeOffset now) => new()
    {
        Served = served,
        Before = before is null || before.Served == served ? before?.Before : before.Served,
        ByBackend = [.. (before?.ByBackend ?? []).Where(one => one.Backend != served.Backend).Append(served)
            .OrderBy(one => one.Backend)],
        ChangedAt = now,
    };
}

public sealed record ServedRelease(PasswordBackend Backend, string Release);

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, UseStringEnumConverter = true, WriteIndented = true)]
[JsonSerializable(typeof(PasswordRelease))]
[JsonSerializable(typeof(CurrentRelease))]
internal sealed partial class PasswordJson : JsonSerializerContext;
