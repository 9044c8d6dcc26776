using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>Every try of some work ended without a word: the process died each time, and would again.</summary>
public sealed class TriesUsedUpException(string message) : BadInputException(message);
