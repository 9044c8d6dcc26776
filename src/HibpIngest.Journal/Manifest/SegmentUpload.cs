using System.IO.Pipelines;

namespace HibpIngest.Journal.Manifest;

/// <summary>Uploads a segment while it is being written, so that only a few blocks are in memory.</summary>
public static class SegmentUpload
{
    /// <summary>Maximum buffered: some blocks ahead of the upload, which takes 8 MiB at a time.</summary>
    private const int BytesAhead = 4 << 20;

    /// <returns>The seal, and whether this call created the blob; false: a blob of that name existed.</returns>
    public static async Task<(SegmentSeal Seal, bool Created)> RunAsync(
        IJournalBlobs blobs, string name, Func<Stream, CancellationToken, Task<SegmentSeal>> write, CancellationToken cancellationToken)
    {
        var pipe = new Pipe(new PipeOptions(pauseWriterThreshold: BytesAhead, resumeWriterThreshold: BytesAhead / 2));
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        var upload = UploadAsync();
        SegmentSeal seal;
        try
        {
            seal = await write(pipe.Writer.AsStream(), stop.Token);
            await pipe.Writer.CompleteAsync();
        }
        catch (Exception e)
        {
            // The upload sees this error when it reads, commits nothing and ends. If the upload failed first, its own error is thrown.
            await pipe.Writer.CompleteAsync(e);
            if (stop.IsCancellationRequested && !cancellationToken.IsCancellationRequested)
                await upload;
            await ((Task)upload).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            throw;
        }
        return (seal, await upload);

        async Task<bool> UploadAsync()
        {
            try
            {
                await using var content = pipe.Reader.AsStream();
                return await blobs.UploadAsync(name, content, cancellationToken);
            }
            catch
            {
                await stop.CancelAsync();
                throw;
            }
        }
    }
}
