using System.Text.Json.Serialization;

namespace HibpIngest.Passwords.Releases;

/// <summary>The document of a release (<c>release.json</c>); without a part, the release is being imported or deleted.</summary>
public sealed record PasswordRelease
{
    /// <summary>Version of the documents, and of a release without an id.</summary>
    public const int DocumentVersion = 1;

    /// <summary>Version of a release with an id: a program that doesn't know ids would look for its blobs elsewhere.</summary>
    public const int VersionWithId = 2;

    public int Version { get; init; } = DocumentVersion;

    public required string Name { get; init; }

    /// <summary>Distinguishes releases of the same name, and is part of their paths; null if it was made before there were ids.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? Id { get; init; }

    /// <summary>In a replica, the id of the primary's release that it copies. Null if the original has no id, or this is no copy.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? CopyOf { get; init; }

    /// <summary>True if hashes were appended to it, or left out because it lacks their mode: no further mode can join it.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingDefault)]
    public bool Appended { get; init; }

    /// <summary>True if its deletion has started; it is empty.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingDefault)]
    public bool Deleted { get; init; }

    [JsonIgnore]
    public ReleaseKey Key => new(Name, Id);

    public required DateTimeOffset CreatedAt { get; init; }

    public required IReadOnlyList<ReleasePart> Parts { get; init; }

    public IEnumerable<ReleasePart> PartsOf(PasswordBackend backend) => Parts.Where(part => part.Backend == backend);

    /// <summary>Returns the part from which a mode is read fastest, or null if the release lacks the mode.</summary>
    internal ReleasePart? BestOf(HashMode mode) => Parts.Where(part => part.Mode == mode).MaxBy(part => part.Backend);
}

/// <summary>One mode of a release, in one back end.</summary>
/// <param name="Sum">Sum of all rows (<see cref="RowSum"/>), in 16 hex digits.</param>
/// <param name="ETag">The valid version of the part's index (pack) or list of ranges (blob, table).</param>
public sealed record ReleasePart(PasswordBackend Backend, HashMode Mode, long Rows, string Sum, string ETag, DateTimeOffset CompletedAt)
{
    /// <summary>Identifies the import that wrote it; null if unknown.</summary>
    public string? Source { get; init; }
}

/// <summary>The document that names the served release (<c>current.json</c>).</summary>
public sealed record CurrentRelease
{
    public int Version { get; init; } = PasswordRelease.DocumentVersion;

    public required ServedRelease Served { get; init; }

    public ServedRelease? Before { get; init; }

    /// <summary>The release that was served last from each back end, for processes that are pinned to one.</summary>
    public required IReadOnlyList<ServedRelease> ByBackend { get; init; }

    public required DateTimeOffset ChangedAt { get; init; }

    /// <summary>Returns the release for a process that is pinned to a back end; null if that back end was never switched to.</summary>
    public ServedRelease? Of(PasswordBackend? backend) =>
        backend is null ? Served : ByBackend.FirstOrDefault(one => one.Backend == backend);

    internal static CurrentRelease After(CurrentRelease? before, ServedRelease served, DateTimeOffset now) => new()
    {
        Served = served,
        Before = before is null || before.Served == served ? before?.Before : before.Served,
        ByBackend = [.. (before?.ByBackend ?? []).Where(one => one.Backend != served.Backend).Append(served).OrderBy(one => one.Backend)],
        ChangedAt = now,
    };
}

public sealed record ServedRelease(PasswordBackend Backend, string Release);

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, UseStringEnumConverter = true, WriteIndented = true)]
[JsonSerializable(typeof(PasswordRelease))]
[JsonSerializable(typeof(CurrentRelease))]
internal sealed partial class PasswordJson : JsonSerializerContext;

/// <summary>The form in which a release is stored (docs/passwords.md).</summary>
public enum PasswordBackend
{
    /// <summary>A table with one entity per hash.</summary>
    [JsonStringEnumMemberName("table")]
    Table = 0,

    /// <summary>One blob per range, gzipped, as it is sent.</summary>
    [JsonStringEnumMemberName("blob")]
    Blob = 1,

    /// <summary>256 blobs, each with the ranges that share its first two digits, and an index.</summary>
    [JsonStringEnumMemberName("pack")]
    Pack = 2,
}

/// <summary>Identifies a release. A name can be used again once its release was deleted; the id can't.</summary>
/// <param name="Id">Random; null if the release was made before releases had one.</param>
public readonly record struct ReleaseKey(string Name, string? Id)
{
    // With the longest name, a table's name has 61 characters; the service takes 63.
    private const int IdDigits = 16;

    internal static ReleaseKey New(string name) => new(name, RandomNumberGenerator.GetHexString(IdDigits, lowercase: true));

    public static ReleaseKey Parse(string text) =>
        text.IndexOf('/', StringComparison.Ordinal) is var slash and >= 0 ? new(text[..slash], text[(slash + 1)..]) : new(text, null);

    /// <summary>Returns <c>NAME/ID</c>, or <c>NAME</c> if there is no id.</summary>
    public override string ToString() => Id is null ? Name : $"{Name}/{Id}";
}
