namespace HibpIngest.AccessLog;

/// <summary>What requests are counted by.</summary>
public enum UsageBy
{
    /// <summary>Template of the route.</summary>
    Route,

    Key,

    /// <summary>The hour, UTC.</summary>
    Hour,

    Status,
}
