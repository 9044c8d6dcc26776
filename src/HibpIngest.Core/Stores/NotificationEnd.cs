namespace HibpIngest.Stores;

/// <param name="Recorded">False: another owner has claimed or completed it.</param>
/// <param name="MayContinue">Its load is still notifying and its breach not hidden: the next mail may be sent.</param>
/// <param name="Refused">It was deferred for too long, and is permanently refused.</param>
public readonly record struct NotificationEnd(bool Recorded, bool MayContinue, bool Refused = false);
