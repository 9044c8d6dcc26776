namespace HibpIngest.Pipeline;

/// <summary>The pipeline's queues. Names are shared with the Functions app and the infrastructure: a contract.</summary>
public static class QueueNames
{
    /// <summary>Blob versions to ingest, and loads to go on with.</summary>
    public const string Ingest = "breach-ingest";

    /// <summary>Slices to upsert.</summary>
    public const string Slices = "breach-slices";

    /// <summary>Loads to match.</summary>
    public const string Match = "breach-match";

    /// <summary>Ranges of notifications to send.</summary>
    public const string Mail = "breach-mail";

    /// <summary>Loads to be written into the account log.</summary>
    public const string Log = "breach-log";

    /// <summary>Slices to be looked through for what clients watch.</summary>
    public const string Calls = "breach-calls";

    /// <summary>Clients to be called.</summary>
    public const string Callbacks = "breach-callbacks";

    /// <summary>Parts of dropped files of Pwned Passwords to import.</summary>
    public const string PasswordsImport = "passwords-import";

    /// <summary>Hashes that were sent to be added to Pwned Passwords.</summary>
    public const string PasswordsAppend = "passwords-append";

    /// <summary>Ended blobs of the access log, to be counted.</summary>
    public const string AccessRollUp = "access-rollup";

    /// <summary>Where a message goes that has used up its tries, behind its queue's name.</summary>
    public const string PoisonSuffix = "-poison";

    /// <summary>Those of loads, in the order of the flow.</summary>
    public static readonly IReadOnlyList<string> Loads = [Ingest, Slices, Match, Mail, Log, Calls, Callbacks];

    /// <summary>Those of Pwned Passwords, which know no database.</summary>
    public static readonly IReadOnlyList<string> Passwords = [PasswordsImport, PasswordsAppend];

    /// <summary>Those of the access log, which know no database either.</summary>
    public static readonly IReadOnlyList<string> Access = [AccessRollUp];

    /// <summary>All of them.</summary>
    public static readonly IReadOnlyList<string> All = [.. Loads, .. Passwords, .. Access];
}
