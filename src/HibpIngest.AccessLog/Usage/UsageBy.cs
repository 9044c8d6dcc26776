namespace HibpIngest.AccessLog;

/// <summary>What requests are counted by.</summary>
public enum UsageBy
{
    /// <summary>Template of the route.</summary>
    Route,

    /// <summary>The key that they came with.</summary>
    Key,

    /// <summary>The hour, UTC.</summary>
    Hour,

    /// <summary>HTTP status.</summary>
    Status,
}
