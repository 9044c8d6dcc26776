namespace HibpIngest.Api.AccessLog;

/// <summary>The access log can't be written, so a request that must be logged before it is answered is refused.</summary>
public sealed class AccessLogDownException(string reason) : StoreUnavailableException($"the access log can't be written: {reason}")
{
    /// <summary>Approximate time until the next attempt.</summary>
    public static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(2);
}
