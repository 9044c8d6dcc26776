namespace HibpIngest.Passwords.Replicas;

/// <param name="Current">The release it serves; null: none, or it can't be read.</param>
/// <param name="Releases">Its complete releases.</param>
/// <param name="Reason">Why it can't be read; null: it can.</param>
public sealed record ReplicaState(string Replica, CurrentRelease? Current, IReadOnlyList<PasswordRelease> Releases, string? Reason);
