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

    /// <summary>Where a message goes that has used up its tries, behind its queue's name.</summary>
    public const string PoisonSuffix = "-poison";

    /// <summary>All of them, in the order of the flow.</summary>
    public static readonly IReadOnlyList<string> All = [Ingest, Slices, Match, Mail];
}
