namespace HibpIngest.Stores;

/// <param name="Most">Maximum number of claims; the lowest numbers are claimed first.</param>
/// <param name="PerSecond">Mails per second of the whole system.</param>
/// <param name="Ahead">If the send time of the first mail lies further ahead than this, nothing is claimed and no time is reserved.</param>
public sealed record ClaimOrder(string Owner, TimeSpan Lease, int Most, double PerSecond, TimeSpan Ahead);
