using HibpIngest.Storage.Azure.Connections;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Tests.AzureStorage;

public sealed class JournalBlobsTests
{
    private static readonly byte[] Content = [.. Enumerable.Range(0, 100_000).Select(i => (byte)(i * 7))];

    private readonly TaskCompletionSource _opened = new();
    private readonly List<string?> _conditions = [];

    [Fact]
    public async Task Interrupted_read_resumes_after_the_received_bytes_in_the_same_version()
    {
        Assert.Equal(Content[1_000..91_000], await ReadAsync(isReplaced: false));
        Assert.Equal([null, "\"0x1\""], _conditions);
    }

    [Fact]
    public async Task Interrupted_read_fails_if_the_blob_was_replaced()
    {
        var e = await Assert.ThrowsAnyAsync<HibpException>(() => ReadAsync(isReplaced: true));
        Assert.Contains("reading of blob '1/a.alog' failed: status 412", e.Message, StringComparison.Ordinal);
    }

    private async Task<byte[]> ReadAsync(bool isReplaced)
    {
        await using var server = await LoopbackServer.StartAsync((context, number, _) => AnswerAsync(context, number, isReplaced));
        using var account = StorageAccount.Open(
            server.ConnectionString, NullLoggerFactory.Instance, new StorageOptions { RetryDelay = TimeSpan.FromMilliseconds(1) });
        await using var stream = (await account.JournalBlobs.OpenAsync("1/a.alog", 1_000, 90_000, CancellationToken.None))!;
        _opened.SetResult();
        using var read = new MemoryStream();
        await stream.CopyToAsync(read);
        return read.ToArray();
    }

    /// <summary>Cuts off the first response in its middle, once it is being read.</summary>
    private async Task AnswerAsync(HttpContext context, int number, bool isReplaced)
    {
        var (request, response) = (context.Request.Headers, context.Response);
        var range = request["x-ms-range"].FirstOrDefault() ?? request.Range.FirstOrDefault();
        _conditions.Add(request.IfMatch.FirstOrDefault());
        if (isReplaced && number > 0)
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
        await _opened.Task;
        context.Abort();
    }
}
