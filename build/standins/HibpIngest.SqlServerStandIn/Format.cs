namespace Microsoft.SqlServer.Server;

/// <summary>How a user-defined type is serialised. Microsoft.Data.SqlClient names it; user-defined types are not used here.</summary>
public enum Format
{
    Unknown = 0,
    Native = 1,
    UserDefined = 2,
}
