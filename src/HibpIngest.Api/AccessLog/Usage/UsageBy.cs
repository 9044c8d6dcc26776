namespace HibpIngest.Api.AccessLog.Usage;

public enum UsageBy
{
    /// <summary>The route's template.</summary>
    Route,

    Key,

    /// <summary>The hour, UTC.</summary>
    Hour,

    Status,
}
