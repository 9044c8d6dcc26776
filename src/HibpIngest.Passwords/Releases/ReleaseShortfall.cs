using System.Globalization;

namespace HibpIngest.Passwords;

/// <summary>A mode of which a release has fewer rows than are served: it is served only if somebody switches to it.</summary>
/// <param name="Rows">Rows of the release; 0: it is without that mode.</param>
public sealed record ReleaseShortfall(HashMode Mode, long Rows, long ServedRows)
{
    /// <summary>Least percentage of the served rows of a mode with which a release is served without being asked for.</summary>
    public const int LeastPercent = 95;

    /// <summary>Lists the modes of which under <see cref="LeastPercent"/> percent of the served rows would be served.</summary>
    public static IReadOnlyList<ReleaseShortfall> List(IEnumerable<ReleasePart> served, IEnumerable<ReleasePart> next) =>
        [.. from now in served
            let rows = next.FirstOrDefault(part => part.Mode == now.Mode)?.Rows ?? 0
            where rows < now.Rows * (LeastPercent / 100m)
            select new ReleaseShortfall(now.Mode, rows, now.Rows)];

    /// <summary>Says why the release is not served.</summary>
    public override string ToString() => Rows == 0 ? $"what is served has {Mode.Name()}, and it has not"
        : string.Create(
            CultureInfo.InvariantCulture,
            $"it has {Rows:N0} {Mode.Name()} hashes, under {LeastPercent}% of the {ServedRows:N0} that are served");
}
