using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <param name="Metadata">The breach's metadata document, read again; null: there is none that speaks for this breach.</param>
/// <param name="Hold">The mails wait for an operator, whatever the document says.</param>
/// <param name="HeldBecause">The same, with a reason that stays with the load.</param>
public sealed record MatchEnd(ReadOnlyMemory<byte>? Metadata, bool Hold, string? HeldBecause = null)
{
    /// <summary>
    /// Most notifications (and subscriptions looked at) of one step: some seconds, and a log that every tier
    /// takes.
    /// </summary>
    public int StepRows { get; init; } = 50_000;

    /// <summary>
    /// Accounts that one step of an exact count sorts; each reads the whole load. 20 million are some GB of a
    /// server's temporary space.
    /// </summary>
    public long CountRows { get; init; } = 20_000_000;

    /// <summary>Clients are to be called of the load.</summary>
    public bool CallsClients { get; init; }

    /// <summary>The load's lease lasts so long from the end of a step on, where somebody holds it.</summary>
    public TimeSpan Lease { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The parts that an exact count of so many rows is cut into.</summary>
    public int CountParts(long rows) => (int)Math.Clamp((rows + CountRows - 1) / CountRows, 1, LargestCountParts);

    /// <summary>Accounts are told apart by some characters of theirs, which make no more parts than these.</summary>
    private const int LargestCountParts = 1_000;

    /// <summary>Whether a load so held, with such metadata, waits for an operator.</summary>
    public bool Holds(BreachMetadata metadata) => Hold || metadata.Notify == NotifyMode.Hold;
}
