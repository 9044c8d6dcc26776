namespace HibpIngest.Stores;

/// <param name="Most">At most so many, the lowest numbers.</param>
/// <param name="PerSecond">Mails a second of the whole system.</param>
/// <param name="Ahead">Where the time for the first of them lies further ahead, none is claimed and no time reserved.</param>
public sealed record ClaimOrder(string Owner, TimeSpan Lease, int Most, double PerSecond, TimeSpan Ahead);
