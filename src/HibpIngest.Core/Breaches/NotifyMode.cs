namespace HibpIngest.Breaches;

/// <summary>How a load's notifications are handled after matching.</summary>
public enum NotifyMode
{
    /// <summary>They are sent at once.</summary>
    Send,

    /// <summary>They wait, matched and counted, until an operator releases them: a mail can't be recalled.</summary>
    Hold,
}
