namespace HibpIngest.AccessLog;

public enum UsageBy
{
    /// <summary>Template of the route.</summary>
    Route,

    Key,

    /// <summary>The hour, UTC.</summary>
    Hour,

    Status,
}
