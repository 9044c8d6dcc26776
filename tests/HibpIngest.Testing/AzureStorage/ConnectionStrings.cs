namespace HibpIngest.Testing;

internal static class ConnectionStrings
{
    /// <summary>A well-formed key that no account of the emulator has.</summary>
    public static readonly string WrongKey = Convert.ToBase64String(new byte[64]);

    /// <summary>Returns the connection string of an account whose services are at one server.</summary>
    public static string Of(string server, string blobs = "/local", string tables = "/local") =>
        $"DefaultEndpointsProtocol=http;AccountName=local;AccountKey={WrongKey};"
        + $"BlobEndpoint={server}{blobs};QueueEndpoint={server}/local;TableEndpoint={server}{tables};";

    /// <summary>Returns the connection string with another server's tables.</summary>
    public static string WithTables(string connection, string server) =>
        With(connection, "TableEndpoint", $"{server}/{Settings(connection)["AccountName"]}");

    /// <summary>Returns the connection string with a key that the account refuses.</summary>
    public static string WithWrongKey(string connection) => With(connection, "AccountKey", WrongKey);

    /// <param name="service">Blob, Queue or Table.</param>
    public static Uri Endpoint(string connection, string service) => new(Settings(connection)[$"{service}Endpoint"]);

    public static Dictionary<string, string> Settings(string connection) =>
        connection.Split(';', StringSplitOptions.RemoveEmptyEntries).Select(pair => pair.Split('=', 2)).ToDictionary(
            pair => pair[0], pair => pair[1]);

    private static string With(string connection, string name, string value)
    {
        var settings = Settings(connection);
        settings[name] = value;
        return string.Join(';', settings.Select(pair => $"{pair.Key}={pair.Value}"));
    }
}
