namespace HibpIngest.Pipeline.Journal;

/// <summary>The journal holds something other than expected; nothing in it was changed.</summary>
public sealed class JournalConflictException(string message) : HibpException(message);
