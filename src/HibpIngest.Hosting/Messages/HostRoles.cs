namespace HibpIngest.Hosting.Messages;

/// <summary>The work that a host does; several hosts may share it.</summary>
[Flags]
public enum HostRoles
{
    None = 0,

    /// <summary>Finds dropped breaches, and ingests one at a time.</summary>
    Ingest = 1,

    Upsert = 2,

    /// <summary>Matches subscribers and sends mails.</summary>
    Notify = 4,

    /// <summary>Re-sends messages that were lost between two steps.</summary>
    Sweep = 8,

    /// <summary>Serves lookups; needs no database.</summary>
    Web = 16,

    /// <summary>Imports dropped files of Pwned Passwords.</summary>
    Passwords = 32,

    /// <summary>Writes the account log.</summary>
    Log = 64,

    /// <summary>Aggregates the access log.</summary>
    Access = 128,

    Call = 256,

    /// <summary>The whole pipeline.</summary>
    All = Ingest | Upsert | Notify | Sweep | Passwords | Log | Access | Call,
}
