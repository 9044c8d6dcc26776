namespace HibpIngest.Breaches;

/// <summary>Reasons for holding a load's mails that are told from others.</summary>
public static class HoldReason
{
    /// <summary>
    /// How the reason begins of a load whose metadata names another breach than its file: assigning the load
    /// settles it.
    /// </summary>
    public const string OtherBreach = "its metadata says that it is of breach ";
}
