namespace HibpIngest.Passwords.Releases;

/// <summary>A mode of which a release has fewer rows than are served; such a release is served only by an explicit switch.</summary>
/// <param name="Rows">The release's rows; 0 if it lacks the mode.</param>
public sealed record ReleaseShortfall(HashMode Mode, long Rows, long ServedRows)
{
    /// <summary>Minimum percentage of a mode's served rows at which an imported release is served automatically.</summary>
    public const int MinPercent = 95;

    public static IReadOnlyList<ReleaseShortfall> List(IEnumerable<ReleasePart> served, IEnumerable<ReleasePart> next) =>
        [.. from now in served
            let rows = next.FirstOrDefault(part => part.Mode == now.Mode)?.Rows ?? 0
            where rows < now.Rows * (MinPercent / 100m)
            select new ReleaseShortfall(now.Mode, rows, now.Rows)];

    public override string ToString() => Rows == 0 ? $"the served release has {Mode.Name()}, and it has not"
        : string.Create(
            CultureInfo.InvariantCulture,
            $"it has {Rows:N0} {Mode.Name()} hashes, under {MinPercent}% of the {ServedRows:N0} that are served");
}
