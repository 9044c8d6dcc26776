using System.IO.Pipelines;

namespace HibpIngest.Journal.Manifest;

/// <summary>Uploads a segment while it is being written, so that the segment is never in memory as a whole.</summary>
public static class SegmentUpload
{
    // The writer may be a few journal blocks ahead of the upload, which itself buffers blob blocks of 8 MiB.
    private const int MaxBytesAhead = 4 << 20;

    /// <returns>The seal, and whether this call created the blob; false: a blob of that name existed.</returns>
    public static async Task<(SegmentSeal Seal, bool Created)> RunAsync(
        IJournalBlobs blobs, string name, Func<Stream, CancellationToken, Task<SegmentSeal>> write, CancellationToken cancellationToken)
    {
        var pipe = new Pipe(new PipeOptions(pauseWriterThreshold: MaxBytesAhead, resumeWriterThreshold: MaxBytesAhead / 2));
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
