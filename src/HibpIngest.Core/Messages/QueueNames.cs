namespace HibpIngest.Messages;

/// <summary>Names of the queues. The Functions app and the infrastructure use them too: a contract.</summary>
public static class QueueNames
{
    /// <summary>Blob versions to ingest, and loads to resume.</summary>
    public const string Ingest = "breach-ingest";
    public const string Slices = "breach-slices";
    public const string Match = "breach-match";

    /// <summary>Ranges of notifications to send.</summary>
    public const string Mail = "breach-mail";

    /// <summary>Loads to write into the journal.</summary>
    public const string Journal = "breach-log";

    /// <summary>Slices to search for the prefixes that clients watch.</summary>
    public const string Calls = "breach-calls";
    public const string Callbacks = "breach-callbacks";

    /// <summary>Parts of dropped files of Pwned Passwords to import.</summary>
    public const string PasswordsImport = "passwords-import";

    /// <summary>Transactions of hashes to add to Pwned Passwords.</summary>
    public const string PasswordsAppend = "passwords-append";

    /// <summary>Sealed blobs of the access log to count.</summary>
    public const string AccessRollUp = "access-rollup";

    /// <summary>Commands of people, sealed, from the web app.</summary>
    public const string Commands = "hibp-commands";

    /// <summary>Suffix of a poison queue, which receives messages that failed at every attempt.</summary>
    public const string PoisonSuffix = "-poison";

    /// <summary>All queues, in the order of the flow.</summary>
    public static readonly IReadOnlyList<string> All =
        [Ingest, Slices, Match, Mail, Journal, Calls, Callbacks, PasswordsImport, PasswordsAppend, AccessRollUp, Commands];

    /// <summary>All queues, each followed by its poison queue.</summary>
    public static readonly IReadOnlyList<string> AllWithPoison = [.. All.SelectMany(queue => (string[])[queue, queue + PoisonSuffix])];
}
