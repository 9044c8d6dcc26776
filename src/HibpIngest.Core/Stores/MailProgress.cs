namespace HibpIngest.Stores;

/// <param name="MaySend">The load is notifying, and its breach isn't hidden.</param>
/// <param name="Queued">Notifications up to this number have a message.</param>
/// <param name="FirstWaiting">The lowest number that is open and not deferred; null: none is.</param>
public sealed record MailProgress(bool MaySend, int Queued, int? FirstWaiting, int Last);
