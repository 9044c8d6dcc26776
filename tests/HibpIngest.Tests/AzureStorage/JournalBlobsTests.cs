using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Azure.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Tests.AzureStorage;

/// <summary>Tests reading the journal when the connection is lost halfway.</summary>
public sealed class JournalBlobsTests
{
    private static readonly byte[] Content = [.. Enumerable.Range(0, 100_000).Select(i => (byte)(i * 7))];

    [Fact]
    public async Task Interrupted_read_resumes_after_the_received_bytes_in_the_same_version()
    {
        var opened = new TaskCompletionSource();
        var conditions = new List<(string? Range, string? IfMatch)>();
        await using var server = await LoopbackServer.StartAsync(
            (context, number, _) => AnswerAsync(context, number, conditions, replaced: false, opened.Task));
        using var account = Open(server);
        await using var stream = (await account.JournalBlobs.OpenAsync("1/a.alog", 1_000, 90_000, CancellationToken.None))!;
        opened.SetResult();
        using var read = new MemoryStream();
        await stream.CopyToAsync(read);
        Assert.Equal(Content[1_000..91_000], read.ToArray());
        Assert.Equal(2, conditions.Count);
        Assert.Null(conditions[0].IfMatch);
        Assert.Equal("\"0x1\"", conditions[1].IfMatch);
    }

    [Fact]
    public async Task Interrupted_read_fails_if_the_blob_was_replaced()
    {
        var opened = new TaskCompletionSource();
        await using var server = await LoopbackServer.StartAsync(
            (context, number, _) => AnswerAsync(context, number, [], replaced: true, opened.Task));
        using var account = Open(server);
        await using var stream = (await account.JournalBlobs.OpenAsync("1/a.alog", 0, 90_000, CancellationToken.None))!;
        opened.SetResult();
        var e = await Assert.ThrowsAnyAsync<HibpException>(() => stream.CopyToAsync(Stream.Null));
        Assert.Contains("reading of blob '1/a.alog' failed: status 412", e.Message, StringComparison.Ordinal);
    }

    private static StorageAccount Open(LoopbackServer server) => StorageAccount.Open(
        server.ConnectionString, NullLoggerFactory.Instance, new StorageOptions { RetryDelay = TimeSpan.FromMilliseconds(1) });

    /// <summary>Cuts off the first response in its middle, once it is being read.</summary>
    private static async Task AnswerAsync(
        HttpContext context, int number, List<(string?, string?)> conditions, bool replaced, Task opened)
    {
        var (request, response) = (context.Request.Headers, context.Response);
        var range = request["x-ms-range"].FirstOrDefault() ?? request.Range.FirstOrDefault();
        conditions.Add((range, request.IfMatch.FirstOrDefault()));
        if (replaced && number > 0)
        {
            response.StatusCode = StatusCodes.Status412PreconditionFailed;
            response.Headers["x-ms-error-code"] = "ConditionNotMet";
            return;
        }
        var ends = range!["bytes=".Length..].Split('-');
        var (from, to) = (int.Parse(ends[0]), int.Parse(ends[1]));
        response.StatusCode = StatusCodes.Status206PartialContent;
        response.Headers.ETag = "\"0x1\"";
        response.Headers.LastModified = "Mon, 01 Jan 2024 00:00:00 GMT";
        response.Headers["x-ms-blob-type"] = "BlockBlob";
        response.Headers.ContentRange = $"bytes {from}-{to}/{Content.Length}";
        response.ContentLength = to - from + 1;
        if (number > 0)
        {
            await response.Body.WriteAsync(Content.AsMemory(from, to - from + 1));
            return;
        }
        await response.Body.WriteAsync(Content.AsMemory(from, 40_000));
        await response.Body.FlushAsync();
        await opened;
        context.Abort();
    }
}
