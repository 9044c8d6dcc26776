namespace HibpIngest.Storage.Azure.Tables;

/// <summary>The service throttled a write; nothing was written, or it isn't known to have been.</summary>
/// <param name="Pause">The service's Retry-After; zero: it named none.</param>
internal sealed record WriteRefusal(StoreThrottledException Failure, TimeSpan Pause);
