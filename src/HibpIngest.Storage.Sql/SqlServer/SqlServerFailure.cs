namespace HibpIngest.Storage.Sql.SqlServer;

/// <summary>How an error is handled.</summary>
internal enum FailureKind
{
    /// <summary>The error is reported.</summary>
    Final,

    /// <summary>Retried on a new connection after a delay.</summary>
    Transient,

    /// <summary>
    /// Another transaction was first (a unique key, a foreign key, a deadlock): retried at once, and the next attempt sees its changes.
    /// </summary>
    Conflict,

    /// <summary>It is unknown whether the transaction was committed.</summary>
    InDoubt,

    TimedOut,
}

/// <summary>A classified error of the driver. It stays within the provider; the caller receives <see cref="Reported"/>.</summary>
internal sealed class SqlServerFailure(FailureKind kind, int number, Exception told) : Exception(told.Message)
{
    public FailureKind Kind => kind;

    /// <summary>The server's error number; 0: none.</summary>
    public int Number => number;

    /// <summary>
    /// One of the port's errors or, for a defect, an <see cref="InvalidOperationException"/>. Contains nothing of the driver's message,
    /// which can quote data.
    /// </summary>
    public Exception Reported => told;
}
