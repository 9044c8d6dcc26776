namespace HibpIngest.Breaches;

/// <summary>Why an address is not to be told, whatever is imported.</summary>
public enum SuppressionReason
{
    /// <summary>It asked for that.</summary>
    Unsubscribed,

    /// <summary>Mails to it came back.</summary>
    Bounced,

    /// <summary>It called a mail unwanted.</summary>
    Complaint,

    /// <summary>It asked to be forgotten: nothing but the hash is left of it as a subscriber.</summary>
    Forgotten,
}
