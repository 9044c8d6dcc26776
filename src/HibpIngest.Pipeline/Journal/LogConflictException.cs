namespace HibpIngest.Pipeline.Journal;

/// <summary>The journal holds something other than expected; nothing in it was changed.</summary>
public sealed class LogConflictException(string message) : HibpException(message);
