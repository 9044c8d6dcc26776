namespace HibpIngest.Breaches;

/// <summary>What happens to a load's notifications once they are matched.</summary>
public enum NotifyMode
{
    /// <summary>They are sent at once.</summary>
    Send,

    /// <summary>They wait, matched and counted, until an operator releases them: a mail can't be called back.</summary>
    Hold,
}
