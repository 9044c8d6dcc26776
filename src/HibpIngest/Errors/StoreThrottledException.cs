namespace HibpIngest.Errors;

/// <summary>A store asked to slow down for longer than there was patience to wait. It works: what got done counts, and the rest is sent again without a growing delay.</summary>
public sealed class StoreThrottledException(string message, Exception? inner = null) : StoreUnavailableException(message, inner);
