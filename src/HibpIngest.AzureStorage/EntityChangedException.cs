using HibpIngest.Errors;

namespace HibpIngest.AzureStorage;

/// <summary>What was to be changed is gone, or of another version by now.</summary>
internal sealed class EntityChangedException(string message) : StoreRefusedException(message);
