namespace HibpIngest.Stores;

/// <summary>Hashes that were submitted together, to be added to Pwned Passwords together.</summary>
public sealed record AppendTransaction
{
    /// <summary>Hash of the submitting API key; "open" if no key is required.</summary>
    public required string Submitter { get; init; }
    public required Guid Id { get; init; }
    public AppendState State { get; init; }
    public required DateTimeOffset CreatedAt { get; init; }
    public required int Sha1Rows { get; init; }
    public required int NtlmRows { get; init; }

    /// <summary>Time at which the message for adding the hashes was last sent. Null if never.</summary>
    public DateTimeOffset? MessageSentAt { get; init; }

    /// <summary>The release that the hashes are added to. Null if not decided yet.</summary>
    public string? Release { get; init; }

    /// <summary>
    /// Bitmap of the parts that have been added: the first part is the lowest bit of the first byte; bits after the last part are set.
    /// Empty: the parts are not known yet.
    /// </summary>
    public ReadOnlyMemory<byte> PartsDone { get; init; }
    public DateTimeOffset? DoneAt { get; init; }

    /// <summary>The version that was read. Null if the transaction was not read from the store.</summary>
    public string? ETag { get; init; }
}

public enum AppendState
{
    /// <summary>Submitted, not confirmed.</summary>
    Submitted = 0,

    Confirmed,

    Done,
}
