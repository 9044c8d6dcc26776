namespace HibpIngest.Stores;

/// <summary>Result of recovering a load from the account log.</summary>
public enum RecoveryStep
{
    /// <summary>Nothing changed: all of it was known.</summary>
    Known,

    /// <summary>The load was published here; its data, or that of its breach, was older and has been updated.</summary>
    Told,

    Added,

    /// <summary>The load was known and unpublished: rows of it may remain, which must be purged.</summary>
    Finished,

    /// <summary>Nothing changed: the load is being removed.</summary>
    Removing,
}
