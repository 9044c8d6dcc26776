namespace HibpIngest.Testing;

internal static class ConnectionStrings
{
    /// <summary>Returns the connection string of an account whose services are at one server.</summary>
    public static string Of(string server, string blobs = "/local", string tables = "/local") =>
        $"DefaultEndpointsProtocol=http;AccountName=local;AccountKey={Convert.ToBase64String(new byte[64])};"
        + $"BlobEndpoint={server}{blobs};QueueEndpoint={server}/local;TableEndpoint={server}{tables};";

    /// <summary>Returns the connection string with another server's tables.</summary>
    public static string WithTables(string connection, string server)
    {
        var settings = Settings(connection);
        settings["TableEndpoint"] = $"{server}/{settings["AccountName"]}";
        return string.Join(';', settings.Select(pair => $"{pair.Key}={pair.Value}"));
    }

    /// <param name="service">Blob, Queue or Table.</param>
    public static Uri Endpoint(string connection, string service) => new(Settings(connection)[$"{service}Endpoint"]);

    public static Dictionary<string, string> Settings(string connection) =>
        connection.Split(';', StringSplitOptions.RemoveEmptyEntries).Select(pair => pair.Split('=', 2)).ToDictionary(
            pair => pair[0], pair => pair[1]);
}
