using System.Security.Cryptography;
using System.Text;
using System.Text.Json.Serialization;
using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>
/// The import of one version of a dropped file (<c>imports/RELEASE/MODE/plan.json</c>): while it is there, no other file is imported
/// into that release and mode.
/// </summary>
public sealed record ImportPlan
{
    /// <summary>Which form this document has, as the release that it goes into.</summary>
    public int Version { get; init; } = PasswordRelease.DocumentVersion;

    /// <summary>Names the version of the file: <see cref="IdOf"/>.</summary>
    public required string Id { get; init; }

    public required string Release { get; init; }

    /// <summary>The release's id; null: it has none.</summary>
    public string? ReleaseId { get; init; }

    public required HashMode Mode { get; init; }

    /// <summary>The file's folder named the release.</summary>
    public bool IsNamed { get; init; }

    public required string File { get; init; }

    public required string ETag { get; init; }

    public required ImportState State { get; init; }

    public required DateTimeOffset PlannedAt { get; init; }

    /// <summary>Where each group begins in the file, and, last, where the file ends: what is between two is one message's.</summary>
    public required IReadOnlyList<long> Offsets { get; init; }

    /// <summary>Why it has ended before its time; null: it has not, or its file was replaced or deleted.</summary>
    public string? Reason { get; init; }

    /// <summary>The release that has the same hashes already; null: there was none.</summary>
    public string? AlreadyIn { get; init; }

    /// <summary>The groups that there is something of in the file.</summary>
    [JsonIgnore]
    public IEnumerable<int> Groups => Enumerable.Range(0, PasswordNames.Groups).Where(group => Offsets[group] < Offsets[group + 1]);

    [JsonIgnore]
    internal ReleaseKey Key => new(Release, ReleaseId);

    [JsonIgnore]
    internal DroppedPasswords Source => new(File, ETag, Offsets[^1], default);

    /// <summary>Whether it is the same import: of the same version of a file, into the same release.</summary>
    internal bool IsSame(ImportPlan other) => (Id, Key) == (other.Id, other.Key);

    /// <summary>What a version of a file is known by.</summary>
    internal static string IdOf(DroppedPasswords file) =>
        Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes($"{file.ETag}\n{file.Name}")))[..16];
}

public enum ImportState
{
    /// <summary>Its messages are being sent.</summary>
    Planned = 0,

    /// <summary>Its messages are sent.</summary>
    Running = 1,

    /// <summary>All its groups are written, and nothing can stop it any more.</summary>
    Finishing = 2,

    /// <summary>It is in the release, and its file is gone.</summary>
    Done = 3,

    /// <summary>It was given up; nothing of it is kept.</summary>
    Ended = 4,
}

/// <summary>A dropped file that is not imported (<c>refused/FILE.json</c>), as long as this version of it is there.</summary>
/// <param name="File">Its name; empty where it can't be said.</param>
/// <param name="Reason">Why not, and what to do.</param>
/// <param name="At">Since when that is known.</param>
public sealed record RefusedFile(string File, string Reason, DateTimeOffset At);

/// <summary>The import of a dropped file, as operators see it.</summary>
/// <param name="Done">How many of its groups are written and read back.</param>
public sealed record ImportInHand(ImportPlan Plan, int Done);

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, UseStringEnumConverter = true)]
[JsonSerializable(typeof(ImportPlan))]
[JsonSerializable(typeof(RefusedFile))]
internal sealed partial class ImportPlanJson : JsonSerializerContext;
