namespace HibpIngest.Breaches;

/// <summary>Why an address must not be notified, even if it is imported again.</summary>
public enum SuppressionReason
{
    /// <summary>The subscriber unsubscribed.</summary>
    Unsubscribed,

    /// <summary>Mails to the address bounced.</summary>
    Bounced,

    /// <summary>The subscriber reported a mail as unwanted.</summary>
    Complaint,

    /// <summary>The subscriber asked for erasure: only the hash remains.</summary>
    Forgotten,
}
