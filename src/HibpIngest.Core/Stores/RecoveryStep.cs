namespace HibpIngest.Stores;

/// <summary>What was done with a load that the account log tells of.</summary>
public enum RecoveryStep
{
    /// <summary>Nothing: all of it was known.</summary>
    Known,

    /// <summary>It was published here, and what is told of it, or of its breach, was older.</summary>
    Told,

    Added,

    /// <summary>It was known, and not published: rows of it may be left, which are to be purged.</summary>
    Finished,

    /// <summary>Nothing: it is being removed.</summary>
    Removing,
}
