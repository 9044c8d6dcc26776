using HibpIngest.Storage.Azure;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Tests.AzureStorage;

public sealed class StorageConnectionTests
{
    private const string Secret = "c2VjcmV0LWtleS1tYXRlcmlhbC1vZi10ZXN0cw==";

    [Theory]
    [InlineData(
        "UseDevelopmentStorage=true", "http://127.0.0.1:10000/devstoreaccount1", "http://127.0.0.1:10001/devstoreaccount1",
        "http://127.0.0.1:10002/devstoreaccount1", true, "emulator (127.0.0.1:10000)")]
    [InlineData(
        " UseDevelopmentStorage=true; DevelopmentStorageProxyUri=http://10.1.2.3", "http://10.1.2.3:10000/devstoreaccount1",
        "http://10.1.2.3:10001/devstoreaccount1", "http://10.1.2.3:10002/devstoreaccount1", false, "devstoreaccount1 (10.1.2.3:10000)")]
    [InlineData(
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=" + Secret + ";EndpointSuffix=core.chinacloudapi.cn",
        "https://acme.blob.core.chinacloudapi.cn/", "https://acme.queue.core.chinacloudapi.cn/",
        "https://acme.table.core.chinacloudapi.cn/", false, "acme (acme.blob.core.chinacloudapi.cn)")]
    [InlineData(
        "AccountName=acme;AccountKey=" + Secret + ";TableEndpoint=https://tables.acme.example/x/;", "https://acme.blob.core.windows.net/",
        "https://acme.queue.core.windows.net/", "https://tables.acme.example/x", false, "acme (acme.blob.core.windows.net)")]
    [InlineData(
        "SharedAccessSignature=sv=2021&sig=" + Secret
        + ";BlobEndpoint=https://acme.blob.core.windows.net;QueueEndpoint=https://acme.queue.core.windows.net;"
        + "TableEndpoint=https://acme.table.core.windows.net", "https://acme.blob.core.windows.net/",
        "https://acme.queue.core.windows.net/", "https://acme.table.core.windows.net/", false, "acme (acme.blob.core.windows.net)")]
    [InlineData(
        "AccountName=acme;AccountKey=" + Secret
        + ";BlobEndpoint=http://azurite:10000/acme;QueueEndpoint=http://azurite:10001/acme;TableEndpoint=http://azurite:10002/acme",
        "http://azurite:10000/acme", "http://azurite:10001/acme", "http://azurite:10002/acme", false, "acme (azurite:10000)")]
    [InlineData(
        "acme", "https://acme.blob.core.windows.net/", "https://acme.queue.core.windows.net/", "https://acme.table.core.windows.net/",
        false, "acme (acme.blob.core.windows.net)")]
    [InlineData(
        "https://acme.blob.core.usgovcloudapi.net/", "https://acme.blob.core.usgovcloudapi.net/",
        "https://acme.queue.core.usgovcloudapi.net/", "https://acme.table.core.usgovcloudapi.net/", false,
        "acme (acme.blob.core.usgovcloudapi.net)")]
    public void Connection_strings_of_every_kind_are_parsed(
        string connection, string blobs, string queues, string tables, bool emulator, string display)
    {
        using var store = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        Assert.Equal(
            (blobs, queues, tables), (store.BlobEndpoint.AbsoluteUri, store.QueueEndpoint.AbsoluteUri, store.TableEndpoint.AbsoluteUri));
        Assert.Equal((emulator, display), (store.IsEmulator, store.DisplayName));
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
