namespace Microsoft.SqlServer.Server;

/// <summary>A type that is no user-defined type. Microsoft.Data.SqlClient names it; user-defined types are not used here.</summary>
public sealed class InvalidUdtException(string message) : SystemException(message)
{
    public static InvalidUdtException Create(Type udtType, string resourceReason) =>
        new($"'{udtType}' is not a user-defined type: {resourceReason}");
}
