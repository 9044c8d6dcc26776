using HibpIngest.Errors;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>The service asked to slow down; nothing was written, or it isn't known to have been.</summary>
/// <param name="Pause">For so long it wants nothing.</param>
internal sealed record WriteRefusal(StoreThrottledException Failure, TimeSpan Pause);
