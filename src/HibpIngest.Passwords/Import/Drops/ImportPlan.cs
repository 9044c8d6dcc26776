using System.Text.Json.Serialization;

namespace HibpIngest.Passwords.Import.Drops;

/// <summary>
/// The import of one version of a dropped file (<c>imports/RELEASE/MODE/plan.json</c>). While it is open, no other dropped file can be
/// imported into the same release and mode.
/// </summary>
public sealed record ImportPlan
{
    /// <summary>Version of the document's format; the same as that of the document of the release that receives the hashes.</summary>
    public int Version { get; init; } = PasswordRelease.DocumentVersion;

    public required string Id { get; init; }

    public required string Release { get; init; }

    public string? ReleaseId { get; init; }

    public required HashMode Mode { get; init; }

    /// <summary>True if the file's folder named the release.</summary>
    public bool IsNamed { get; init; }

    public required string File { get; init; }

    public required string ETag { get; init; }

    public required ImportState State { get; init; }

    public required DateTimeOffset PlannedAt { get; init; }

    /// <summary>Offset of each group in the file, followed by the file's length.</summary>
    public required IReadOnlyList<long> Offsets { get; init; }

    /// <summary>Why the import was abandoned. Null if it was not, or its file was replaced or deleted.</summary>
    public string? Reason { get; init; }

    /// <summary>The release that already has the same hashes; null if there was none.</summary>
    public string? AlreadyIn { get; init; }

    [JsonIgnore]
    public IEnumerable<int> Groups => Enumerable.Range(0, PasswordNames.Groups).Where(group => Offsets[group] < Offsets[group + 1]);

    [JsonIgnore]
    internal ReleaseKey Key => new(Release, ReleaseId);

    [JsonIgnore]
    internal DroppedPasswords Source => new(File, ETag, Offsets[^1], default);

    internal bool IsSame(ImportPlan other) => (Id, Key) == (other.Id, other.Key);

    internal static string IdOf(DroppedPasswords file) =>
        Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes($"{file.ETag}\n{file.Name}")))[..16];
}

public enum ImportState
{
    Planned = 0,

    /// <summary>All messages are sent.</summary>
    Running = 1,

    /// <summary>All groups are written, and the import can't be stopped any more.</summary>
    Finishing = 2,

    /// <summary>The release lists the part, and the file is deleted.</summary>
    Done = 3,

    /// <summary>The import was abandoned, and all of it is removed.</summary>
    Ended = 4,
}

/// <summary>A dropped file that is not imported (<c>refused/FILE.json</c>); recorded as long as this version of it exists.</summary>
/// <param name="File">Empty if the name contains an @ and may be an address.</param>
/// <param name="Reason">Why it is not imported, and what to do.</param>
public sealed record RefusedFile(string File, string Reason, DateTimeOffset At);

/// <param name="Done">The number of groups that are written and read back.</param>
public sealed record ImportInProgress(ImportPlan Plan, int Done);

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, UseStringEnumConverter = true)]
[JsonSerializable(typeof(ImportPlan))]
[JsonSerializable(typeof(RefusedFile))]
internal sealed partial class ImportPlanJson : JsonSerializerContext;
