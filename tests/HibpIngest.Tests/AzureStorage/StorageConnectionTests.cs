namespace HibpIngest.Tests.AzureStorage;

public sealed class StorageConnectionTests
{
    private const string Acme = "acme (acme.blob.core.windows.net)";
    private const string Secret = "c2VjcmV0LWtleS1tYXRlcmlhbC1vZi10ZXN0cw==";

    [Theory]
    [InlineData("UseDevelopmentStorage=true", "http://127.0.0.1:PORT/devstoreaccount1", "emulator (127.0.0.1:10000)", true)]
    [InlineData(
        " UseDevelopmentStorage=true; DevelopmentStorageProxyUri=http://10.1.2.3", "http://10.1.2.3:PORT/devstoreaccount1",
        "devstoreaccount1 (10.1.2.3:10000)")]
    [InlineData(
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=" + Secret + ";EndpointSuffix=core.chinacloudapi.cn",
        "https://acme.SERVICE.core.chinacloudapi.cn/", "acme (acme.blob.core.chinacloudapi.cn)")]
    [InlineData(
        "SharedAccessSignature=sv=2021&sig=" + Secret
        + ";BlobEndpoint=https://acme.blob.core.windows.net;QueueEndpoint=https://acme.queue.core.windows.net;"
        + "TableEndpoint=https://acme.table.core.windows.net", "https://acme.SERVICE.core.windows.net/", Acme)]
    [InlineData(
        "AccountName=acme;AccountKey=" + Secret
        + ";BlobEndpoint=http://azurite:10000/acme;QueueEndpoint=http://azurite:10001/acme;TableEndpoint=http://azurite:10002/acme",
        "http://azurite:PORT/acme", "acme (azurite:10000)")]
    [InlineData("acme", "https://acme.SERVICE.core.windows.net/", Acme)]
    [InlineData(
        "https://acme.blob.core.usgovcloudapi.net/", "https://acme.SERVICE.core.usgovcloudapi.net/",
        "acme (acme.blob.core.usgovcloudapi.net)")]
    [InlineData(
        "AccountName=acme;AccountKey=" + Secret + ";TableEndpoint=https://tables.acme.example/x/;",
        "https://acme.SERVICE.core.windows.net/", Acme, false, "https://tables.acme.example/x")]
    public void Connection_strings_of_every_kind_are_parsed(
        string connection, string endpoint, string display, bool emulator = false, string? tables = null)
    {
        using var store = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        Assert.Equal(
            (Endpoint("blob", "10000"), Endpoint("queue", "10001"), tables ?? Endpoint("table", "10002")),
            (store.BlobEndpoint.AbsoluteUri, store.QueueEndpoint.AbsoluteUri, store.TableEndpoint.AbsoluteUri));
        Assert.Equal((emulator, display), (store.IsEmulator, store.DisplayName));

        string Endpoint(string service, string port) => endpoint.Replace("SERVICE", service).Replace("PORT", port);
    }

    [Theory]
    [InlineData("", "is empty")]
    [InlineData("AccountName=acme", "neither AccountKey nor SharedAccessSignature")]
    [InlineData("AccountKey=" + Secret, "neither AccountName nor BlobEndpoint")]
    [InlineData("AccountName=acme;AccountKey=%" + Secret, "AccountKey is not base64")]
    [InlineData("AccountName=acme;AccountKey=" + Secret + ";AccountKey=" + Secret, "twice")]
    [InlineData("AccountName=acme;" + Secret, "unknown part")]
    [InlineData(Secret, "unknown part")]
    [InlineData("AccountName=acme;AccountKey=" + Secret + ";DefaultEndpointsProtocol=ftp", "DefaultEndpointsProtocol")]
    [InlineData("AccountName=acme;AccountKey=" + Secret + ";BlobEndpoint=nowhere", "BlobEndpoint is not an address")]
    [InlineData("AccountName=Acme!;AccountKey=" + Secret, "AccountName is malformed")]
    [InlineData("UseDevelopmentStorage=false", "UseDevelopmentStorage")]
    [InlineData(
        "SharedAccessSignature=" + Secret
        + ";BlobEndpoint=https://a.blob.core.windows.net;QueueEndpoint=https://a.queue.core.windows.net;"
        + "TableEndpoint=https://a.table.core.windows.net", "no signature")]
    [InlineData(
        "SharedAccessSignature=sv=2021&sig=" + Secret
        + ";BlobEndpoint=http://azurite:10000/acme;QueueEndpoint=http://azurite:10001/acme;TableEndpoint=http://azurite:10002/acme",
        "needs a TableEndpoint with https")]
    [InlineData("https://acme.blob.core.windows.net/?sv=2021&sig=" + Secret, "address")]
    [InlineData("https://example.com", "address")]
    public void Malformed_connection_string_is_one_error_line_without_the_secret(string connection, string expected)
    {
        var error = Assert.Throws<BadInputException>(() => StorageAccount.Open(connection, NullLoggerFactory.Instance));
        Assert.Contains(expected, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain(Secret[..8], error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain('\n', error.Message);
    }
}
