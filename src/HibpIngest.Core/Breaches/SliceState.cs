namespace HibpIngest.Breaches;

/// <summary>States of a slice; stored by name in lower case.</summary>
public enum SliceState
{
    /// <summary>Committed; its message is still to be sent.</summary>
    Pending,

    /// <summary>Its message has been sent.</summary>
    Queued,

    /// <summary>All its accounts are in the table.</summary>
    Done,

    /// <summary>All attempts are used up.</summary>
    Failed,
}
