namespace HibpIngest.Errors;

/// <summary>A store answered that what was asked of is not there: the database, a table, a queue, the container. Nobody has set it up yet, or another store is meant.</summary>
public sealed class StoreMissingException(string message, Exception? inner = null) : StoreRefusedException(message, inner);
