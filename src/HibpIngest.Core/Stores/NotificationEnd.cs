namespace HibpIngest.Stores;

/// <param name="Recorded">It is recorded; false: somebody else has it, or has ended it.</param>
/// <param name="MayGoOn">Its load is still notifying and its breach not hidden: the next may be sent.</param>
/// <param name="Refused">It was deferred for too long: refused for good.</param>
public readonly record struct NotificationEnd(bool Recorded, bool MayGoOn, bool Refused = false);
