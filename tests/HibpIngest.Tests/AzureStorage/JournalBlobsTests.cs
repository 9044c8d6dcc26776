namespace HibpIngest.Tests.AzureStorage;

public sealed class JournalBlobsTests
{
    private static readonly byte[] Content = [.. Enumerable.Range(0, 100_000).Select(i => (byte)(i * 7))];

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Interrupted_read_resumes_after_the_received_bytes_unless_the_blob_was_replaced(bool isReplaced)
    {
        var opened = new TaskCompletionSource();
        await using var server = await RangeServer.StartAsync(Content);
        // The first response is cut off in its middle, once it is being read.
        server.BeforeAsync = async (_, sent, _) =>
        {
            if (server.Fetched.Count > 1 || sent == 0)
                return;
            await opened.Task;
            server.ETag = isReplaced ? "\"0x2\"" : server.ETag;
            throw new IOException("cut off");
        };
        await using var stream = (await server.Store.JournalBlobs.OpenAsync("1/a.alog", 1_000, 90_000, CancellationToken.None))!;
        opened.SetResult();
        using var read = new MemoryStream();
        var failure = await Record.ExceptionAsync(() => stream.CopyToAsync(read));

        Assert.Equal([null, "\"0x1\""], server.Fetched.Select(range => range.IfMatch));
        if (isReplaced)
        {
            var refused = Assert.IsAssignableFrom<HibpException>(failure);
            Assert.Contains("reading of blob '1/a.alog' failed: status 412", refused.Message, StringComparison.Ordinal);
            return;
        }
        Assert.Null(failure);
        Assert.Equal(Content[1_000..91_000], read.ToArray());
    }
}
