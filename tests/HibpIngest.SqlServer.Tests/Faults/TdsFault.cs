namespace HibpIngest.SqlServer.Tests.Faults;

/// <summary>What becomes of a packet.</summary>
internal enum TdsFault
{
    /// <summary>It is passed on.</summary>
    None,

    /// <summary>Half of it is passed on, and the connection is cut on both sides.</summary>
    CutInside,

    /// <summary>The connection is cut on both sides before it.</summary>
    CutBefore,

    /// <summary>
    /// It is passed on; when the server has answered, the answer is thrown away and the connection cut on both
    /// sides.
    /// </summary>
    CutAnswer,

    /// <summary>From here on nothing is passed in either direction, and the connection stays open.</summary>
    Silence,

    /// <summary>
    /// The login is answered with error 40613 (the database is not available just now), as Azure SQL does while
    /// it moves a database.
    /// </summary>
    RefuseLogin,
}
