using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Queues;
using Azure.Storage.Sas;

namespace HibpIngest.Benchmarks;

/// <summary>The fourth published option, without an API: a client gets a public blob, and sends its own record to a queue.</summary>
internal static class ClientLog
{
    /// <summary>Gets the blob and sends the record, one pair after another on each connection.</summary>
    /// <param name="blobs">The blob's storage account.</param>
    /// <param name="queues">The queue's storage account.</param>
    /// <param name="connections">Concurrent connections.</param>
    /// <param name="seconds">Duration.</param>
    public static async Task<HttpLoad> RunAsync(string blobs, string queues, int connections, int seconds)
    {
        var container = new BlobContainerClient(blobs, "public");
        await container.CreateIfNotExistsAsync(PublicAccessType.Blob);
        var blob = container.GetBlobClient("latestbreach");
        await blob.UploadAsync(new BinaryData(AccessServer.Document()), overwrite: true);
        var queue = new QueueClient(queues, "clients");
        await queue.CreateIfNotExistsAsync();
        var until = TimeProvider.System.GetUtcNow().AddDays(1);
        var ticket = queue.GenerateSasUri(QueueSasPermissions.Add, until);
        var post = new UriBuilder(ticket) { Path = ticket.AbsolutePath + "/messages" }.Uri;

        using var client = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = connections, UseProxy = false });
        var (times, errors, gate) = (new List<double>(), 0, new Lock());
        var began = Stopwatch.GetTimestamp();
        await Task.WhenAll(Enumerable.Range(0, connections).Select(_ => Task.Run(async () =>
        {
            while (Stopwatch.GetElapsedTime(began).TotalSeconds < seconds)
            {
                var sent = Stopwatch.GetTimestamp();
                var isOk = await IsOkAsync(client, blob.Uri, post);
                lock (gate)
                {
                    if (!isOk)
                        errors++;
                    else if (Stopwatch.GetElapsedTime(began).TotalSeconds < seconds)
                        times.Add(Stopwatch.GetElapsedTime(sent).TotalMilliseconds);
                }
            }
        })));
        await queue.DeleteAsync();
        return new HttpLoad(times.Count, errors, seconds, times.Percentile(50), times.Percentile(99));
    }

    private static async Task<bool> IsOkAsync(HttpClient client, Uri blob, Uri post)
    {
        try
        {
            using var got = await client.GetAsync(blob);
            var text = $"{Guid.NewGuid():N} {Stopwatch.GetTimestamp()} {blob.AbsolutePath} 200";
            using var message = new StringContent(
                $"<WorkMessage><MessageText>{text}</MessageText></WorkMessage>", Encoding.UTF8, "application/xml");
            using var posted = await client.PostAsync(post, message);
            return got.IsSuccessStatusCode && posted.IsSuccessStatusCode;
        }
        catch (HttpRequestException)
        {
            return false;
        }
    }
}
