using HibpIngest.Passwords.Import.Drops;

namespace HibpIngest.Passwords.Import;

internal static class ReleaseNaming
{
    /// <summary>Returns the newest release if it lacks these modes and nothing was appended to it, else a new name by the date.</summary>
    public static async Task<string> NextAsync(
        PasswordReleases releases, ImportPlans plans, IReadOnlyList<HashMode> modes, DateTimeOffset now,
        CancellationToken cancellationToken)
    {
        var known = await ListAsync(releases, plans, cancellationToken);
        var newest = known.GroupBy(one => one.Name).MaxBy(release => release.Min(one => one.Since));
        return newest is not null && !newest.Any(one => modes.Contains(one.Mode))
            && !(await releases.FindAsync(newest.Key, cancellationToken) is { } listed
                && await releases.IsAppendedToAsync(listed, cancellationToken)) ? newest.Key : NameOf(now, known);
    }

    public static async Task<string> NewAsync(
        PasswordReleases releases, ImportPlans plans, DateTimeOffset now, CancellationToken cancellationToken) =>
        NameOf(now, await ListAsync(releases, plans, cancellationToken));

    private static async Task<List<(string Name, DateTimeOffset Since, HashMode Mode)>> ListAsync(
        PasswordReleases releases, ImportPlans plans, CancellationToken cancellationToken)
    {
        var known = new List<(string Name, DateTimeOffset Since, HashMode Mode)>();
        foreach (var release in await releases.ListAsync(cancellationToken))
            known.AddRange(release.Parts.Select(part => (release.Name, release.CreatedAt, part.Mode)));
        await foreach (var plan in plans.ListAsync(cancellationToken).Where(plan => plan.State != ImportState.Ended))
            known.Add((plan.Release, plan.PlannedAt, plan.Mode));
        return known;
    }

    private static string NameOf(DateTimeOffset now, List<(string Name, DateTimeOffset Since, HashMode Mode)> known)
    {
        var date = now.ToString("yyyyMMdd", CultureInfo.InvariantCulture);
        return Enumerable.Range(0, 26).Select(number => number == 0 ? date : $"{date}{(char)('a' + number)}")
            .FirstOrDefault(name => known.All(one => one.Name != name))
            ?? throw new NotPossibleException(
                "26 releases are already named by this date: name the release with --release, or drop the file into a folder of that name");
    }
}
