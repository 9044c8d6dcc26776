namespace HibpIngest.Breaches;

/// <summary>Reasons for holding a load's mails that are told from others.</summary>
public static class HoldReason
{
    /// <summary>
    /// How the reason begins of a load whose metadata names another breach than its file: assigning the load
    /// settles it.
    /// </summary>
    public const string OtherBreach = "its metadata says that it is of breach ";

    /// <summary>
    /// How the reason begins of a load that was not published when its database was restored: it stays unpublished
    /// until <c>hibp notify</c> releases it, since the database can't know what became of it afterwards.
    /// </summary>
    public const string NotPublished = "not published, ";

    /// <summary>Whether a load that is held for this reason must not be published.</summary>
    public static bool IsNotPublished(string? because) => because?.StartsWith(NotPublished, StringComparison.Ordinal) == true;

    /// <summary>
    /// Why a load stays held that has been assigned to a breach; null: for no reason of its own. What it
    /// was held for otherwise waits for <c>hibp notify</c>.
    /// </summary>
    /// <param name="because">Why it was held until then.</param>
    public static string? AfterAssignment(string? because) =>
        because?.StartsWith(OtherBreach, StringComparison.Ordinal) == true ? null : because;
}
