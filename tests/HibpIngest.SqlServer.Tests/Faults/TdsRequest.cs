namespace HibpIngest.SqlServer.Tests.Faults;

/// <summary>
/// The driver's requests, as far as faults need to distinguish them (MS-TDS 2.2.1: the packet's type; 2.2.7.17: the
/// transaction manager's request).
/// </summary>
internal enum TdsRequest
{
    /// <summary>Handshake before the login.</summary>
    PreLogin,

    /// <summary>The login, encrypted or not.</summary>
    Login,

    /// <summary>A batch of statements, or a procedure call.</summary>
    Statement,

    /// <summary>A packet of rows of a bulk copy.</summary>
    Rows,

    /// <summary>Begin of a transaction.</summary>
    Begin,

    /// <summary>Commit of a transaction.</summary>
    Commit,

    /// <summary>Rollback of a transaction.</summary>
    RollBack,

    /// <summary>The driver gives up waiting.</summary>
    Attention,

    /// <summary>Anything else, and the packets after the first of a request that isn't <see cref="Rows"/>.</summary>
    Other,
}
