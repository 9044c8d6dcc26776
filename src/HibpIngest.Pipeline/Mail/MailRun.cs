namespace HibpIngest.Pipeline.Mail;

/// <summary>The notifications that one message has claimed, and how many of them are settled.</summary>
public sealed class MailRun : IStageWork
{
    internal MailRun(LoadHead load, Breach breach, MailMessage message, ClaimOrder order, NotificationClaims claims)
    {
        (Load, Breach, Message, Order, Claims) = (load, breach, message, order, claims);
        Settled = message.First - 1;
    }

    public LoadHead Load { get; }

    public Breach Breach { get; }

    public MailMessage Message { get; }

    public long LoadId => Load.Id;

    public int Attempts => Claims.Claimed.Select(one => one.Attempts).DefaultIfEmpty().Max();

    /// <inheritdoc/>
    /// <remarks>Each notification has a claim of its own, which the send checks.</remarks>
    public bool IsLost => false;

    string IStageWork.Breach => Load.Breach;

    internal ClaimOrder Order { get; }

    internal NotificationClaims Claims { get; }

    /// <summary>Number of the last notification that no longer needs its claim.</summary>
    internal int Settled { get; set; }

    /// <summary>Range of notifications whose claims must be released; null: none.</summary>
    internal (int First, int Last)? Rest =>
        Claims.Claimed.Count > 0 && Settled < Claims.Claimed[^1].Number ? (Settled + 1, Message.Last) : null;

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
