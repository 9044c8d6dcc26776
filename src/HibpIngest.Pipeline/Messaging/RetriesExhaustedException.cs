namespace HibpIngest.Pipeline.Messaging;

/// <summary>Every attempt of some work ended without an error: the process died each time, and would again.</summary>
public sealed class RetriesExhaustedException(string message) : BadInputException(message);
