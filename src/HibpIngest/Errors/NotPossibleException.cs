namespace HibpIngest.Errors;

/// <summary>An operator's request that the present state does not allow (requeue after purge, unknown breach or load).</summary>
public sealed class NotPossibleException(string message) : HibpException(message);
