namespace HibpIngest.Errors;

/// <summary>
/// Database and account table do not belong together, or one was made by a newer program or with other fixed settings, or the database is another than the one that was opened. Nothing
/// that is done on these stores would be right: a host stops.
/// </summary>
public sealed class StoreMismatchException(string message) : HibpException(message);
