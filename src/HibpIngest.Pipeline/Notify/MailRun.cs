using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>The notifications that one message has claimed, and how far they are settled.</summary>
public sealed class MailRun : IStageWork
{
    internal MailRun(LoadHead load, Breach breach, MailMessage message, ClaimOrder order, NotificationClaims claims)
    {
        (Load, Breach, Message, Order, Claims) = (load, breach, message, order, claims);
        Settled = message.First - 1;
    }

    public LoadHead Load { get; }

    /// <summary>What they tell of.</summary>
    public Breach Breach { get; }

    /// <summary>Which of them it is about.</summary>
    public MailMessage Message { get; }

    public long LoadId => Load.Id;

    public int Attempts => Claims.Claimed.Select(one => one.Attempts).DefaultIfEmpty().Max();

    /// <inheritdoc/>
    /// <remarks>Each notification has a claim of its own, which the send checks.</remarks>
    public bool IsLost => false;

    string IStageWork.Breach => Load.Breach;

    internal ClaimOrder Order { get; }

    internal NotificationClaims Claims { get; }

    /// <summary>Number of the last one that needs its claim no more.</summary>
    internal int Settled { get; set; }

    /// <summary>Those whose claims are to be given back; null: none.</summary>
    internal (int First, int Last)? Rest =>
        Claims.Claimed.Count > 0 && Settled < Claims.Claimed[^1].Number ? (Settled + 1, Message.Last) : null;

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
