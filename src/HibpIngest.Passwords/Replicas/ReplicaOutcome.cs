namespace HibpIngest.Passwords;

/// <param name="Reason">Why it failed; null: it did not.</param>
public sealed record ReplicaOutcome(string Replica, ReplicaResult Result, string? Reason = null);

public enum ReplicaResult
{
    Done = 0,

    /// <summary>It is without the release, or without a part of it, and goes on with what it serves.</summary>
    Lacking = 1,

    /// <summary>It can't be reached, or something is wrong there: the same command again goes on.</summary>
    Failed = 2,
}
