namespace HibpIngest.Errors;

/// <summary>A store has no room left (disk full, size quota). It passes only when somebody makes room, so a one-off run stops on it.</summary>
public sealed class StoreFullException(string message, Exception? inner = null) : StoreUnavailableException(message, inner);
