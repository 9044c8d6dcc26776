namespace HibpIngest.Sql.SqlServer;

/// <summary>What can be done about an error.</summary>
internal enum FailureKind
{
    /// <summary>Nothing: it is told.</summary>
    Final,

    /// <summary>It passes: the same again on a new connection, after a pause.</summary>
    Transient,

    /// <summary>
    /// Somebody else was first (a unique key, a foreign key, a deadlock): the same again at once, which then
    /// sees what they did.
    /// </summary>
    Conflict,

    /// <summary>Whether the transaction was committed is not known.</summary>
    InDoubt,

    TimedOut,
}

/// <summary>
/// An error of the driver, judged. It stays within the provider: <see cref="Reported"/> is what the caller
/// gets.
/// </summary>
internal sealed class SqlServerFailure(FailureKind kind, int number, Exception told) : Exception(told.Message)
{
    public FailureKind Kind => kind;

    /// <summary>The server's error number; 0: none.</summary>
    public int Number => number;

    /// <summary>
    /// One of the port's errors, or, for a defect, an <see cref="InvalidOperationException"/>. Holds nothing of
    /// the driver's message, which can quote data.
    /// </summary>
    public Exception Reported => told;
}
