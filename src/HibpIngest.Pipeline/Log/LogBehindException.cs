using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>A change was made, readers see it, and the account log does not tell it yet.</summary>
public sealed class LogBehindException(string message, HibpException cause) : HibpException(message, cause);
