namespace HibpIngest.SqlServer.Tests.Faults;

internal enum TdsFault
{
    None,

    /// <summary>Half of the packet is forwarded, and the connection is cut on both sides.</summary>
    CutInside,

    /// <summary>The connection is cut on both sides before it.</summary>
    CutBefore,

    /// <summary>It is forwarded; when the server has responded, the response is discarded and the connection cut on both sides.</summary>
    CutAnswer,

    /// <summary>From here on nothing is forwarded in either direction, and the connection stays open.</summary>
    Silence,

    /// <summary>The login fails with error 40613 (database not available), as on Azure SQL while it moves a database.</summary>
    RefuseLogin,
}
