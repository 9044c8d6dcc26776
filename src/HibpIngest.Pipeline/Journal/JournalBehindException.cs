namespace HibpIngest.Pipeline.Journal;

/// <summary>A change was made and readers see it, but it isn't in the journal yet.</summary>
public sealed class JournalBehindException(string message, HibpException cause) : HibpException(message, cause);
