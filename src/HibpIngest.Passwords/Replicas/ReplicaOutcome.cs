namespace HibpIngest.Passwords.Replicas;

/// <param name="Reason">Why it failed; null: it did not.</param>
public sealed record ReplicaOutcome(string Replica, ReplicaResult Result, string? Reason = null);

public enum ReplicaResult
{
    Done = 0,

    /// <summary>It lacks the release or a part of it, and keeps serving what it serves.</summary>
    Lacking = 1,

    /// <summary>It can't be reached, or its store has an error; running the same command again resumes.</summary>
    Failed = 2,
}
