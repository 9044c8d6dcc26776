using HibpIngest.Errors;

namespace HibpIngest.AccessLog;

/// <summary>A request that has to be logged before it is answered can't be, just now.</summary>
public sealed class AccessLogDownException(string reason) : StoreUnavailableException($"the access log can't be written: {reason}")
{
    /// <summary>When it is tried again, about.</summary>
    public static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(2);
}
