namespace HibpIngest.Storage.Azure.Connections;

/// <summary>The entity or blob to be changed no longer exists or has another version.</summary>
internal sealed class EntityChangedException(string message) : StoreRefusedException(message);
