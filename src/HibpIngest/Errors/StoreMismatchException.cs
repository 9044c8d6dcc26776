namespace HibpIngest.Errors;

/// <summary>Database and account table do not belong together, or one was made by a newer program or with other fixed settings.</summary>
public sealed class StoreMismatchException(string message) : HibpException(message);
