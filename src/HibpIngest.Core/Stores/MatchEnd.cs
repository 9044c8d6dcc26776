using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <param name="Metadata">The breach's metadata document, read again; null: there is none that applies to this breach.</param>
/// <param name="Hold">Hold the mails for an operator, whatever the document says.</param>
/// <param name="HeldBecause">Hold the mails, with a reason that is recorded in the load.</param>
public sealed record MatchEnd(ReadOnlyMemory<byte>? Metadata, bool Hold, string? HeldBecause = null)
{
    /// <summary>
    /// Maximum number of notifications (and subscriptions checked) per step: takes some seconds, with a transaction log that
    /// fits every tier.
    /// </summary>
    public int StepRows { get; init; } = 50_000;

    /// <summary>
    /// Accounts sorted by one step of an exact count; each step reads the whole load. 20 million take some GB of a server's
    /// temporary space.
    /// </summary>
    public long CountRows { get; init; } = 20_000_000;

    /// <summary>Clients must be called for the load.</summary>
    public bool CallsClients { get; init; }

    /// <summary>If the load is leased, its lease is renewed for this long at the end of each step.</summary>
    public TimeSpan Lease { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Returns the number of parts for an exact count of this many rows.</summary>
    public int CountParts(long rows) => (int)Math.Clamp((rows + CountRows - 1) / CountRows, 1, LargestCountParts);

    /// <summary>The part of an account depends on some of its characters, which yield no more parts than this.</summary>
    private const int LargestCountParts = 1_000;

    /// <summary>Returns whether a load with this metadata waits for an operator.</summary>
    public bool Holds(BreachMetadata metadata) => Hold || metadata.Notify == NotifyMode.Hold;
}
