namespace HibpIngest.Breaches;

public static class HoldReason
{
    /// <summary>
    /// Prefix of the reason for a load whose metadata names another breach than its file does. Assigning the load clears it.
    /// </summary>
    public const string OtherBreach = "its metadata says that it is of breach ";

    /// <summary>
    /// Prefix of the reason for a load that was unpublished when its database was restored. It stays unpublished until <c>hibp mail
    /// release</c> releases it, because the database can't know what happened to the load after the backup.
    /// </summary>
    public const string NotPublished = "not published, ";

    /// <summary>Returns whether a load held for this reason must not be published.</summary>
    public static bool IsNotPublished(string? because) => because?.StartsWith(NotPublished, StringComparison.Ordinal) == true;

    /// <summary>
    /// Returns the hold reason after a load has been assigned to a breach. Every reason except <see cref="OtherBreach"/> stays until
    /// <c>hibp mail release</c>.
    /// </summary>
    /// <param name="because">The reason before the assignment.</param>
    /// <returns>Null if the load has no hold reason of its own.</returns>
    public static string? AfterAssignment(string? because) =>
        because?.StartsWith(OtherBreach, StringComparison.Ordinal) == true ? null : because;
}
