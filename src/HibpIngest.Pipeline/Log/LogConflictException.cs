using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>The account log holds something else than what belongs there; nothing of it was changed.</summary>
public sealed class LogConflictException(string message) : HibpException(message);
