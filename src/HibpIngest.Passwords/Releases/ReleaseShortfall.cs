using System.Globalization;

namespace HibpIngest.Passwords.Releases;

/// <summary>A mode of which a release has fewer rows than are served; such a release is served only by an explicit switch.</summary>
/// <param name="Rows">The release's rows; 0: it lacks the mode.</param>
public sealed record ReleaseShortfall(HashMode Mode, long Rows, long ServedRows)
{
    /// <summary>The minimum percentage of a mode's served rows at which an imported release is served automatically.</summary>
    public const int LeastPercent = 95;

    /// <summary>Lists the modes that have less than <see cref="LeastPercent"/> percent of the served rows.</summary>
    public static IReadOnlyList<ReleaseShortfall> List(IEnumerable<ReleasePart> served, IEnumerable<ReleasePart> next) =>
        [.. from now in served
            let rows = next.FirstOrDefault(part => part.Mode == now.Mode)?.Rows ?? 0
            where rows < now.Rows * (LeastPercent / 100m)
            select new ReleaseShortfall(now.Mode, rows, now.Rows)];

    /// <summary>Returns the reason why the release is not served.</summary>
    public override string ToString() => Rows == 0 ? $"what is served has {Mode.Name()}, and it has not"
        : string.Create(
            CultureInfo.InvariantCulture,
            $"it has {Rows:N0} {Mode.Name()} hashes, under {LeastPercent}% of the {ServedRows:N0} that are served");
}
