namespace HibpIngest.SqlServer.Tests.Faults;

/// <summary>The driver's requests that faults distinguish (MS-TDS 2.2.1: packet types; 2.2.7.17: transaction requests).</summary>
internal enum TdsRequest
{
    Login,
    Begin,
    Commit,

    /// <summary>A batch of statements, or a procedure call.</summary>
    Statement,

    /// <summary>A packet of rows of a bulk copy.</summary>
    Rows,

    /// <summary>Anything else, and the packets after the first of a request that isn't <see cref="Rows"/>.</summary>
    Other,
}
