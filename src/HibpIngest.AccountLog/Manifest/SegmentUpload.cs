using System.IO.Pipelines;
using HibpIngest.Stores;

namespace HibpIngest.AccountLog;

/// <summary>Has a segment uploaded while it is being written, so that no more of it than some blocks is in memory.</summary>
public static class SegmentUpload
{
    /// <summary>Some blocks ahead of the upload, which takes 8 MiB at a time.</summary>
    private const int BytesAhead = 4 << 20;

    /// <summary>Returns once the segment is there, whole, or another blob of its name was found to be.</summary>
    public static async Task<(SegmentSeal Seal, bool Created)> RunAsync(
        IAccountLogBlobs blobs, string name, Func<Stream, CancellationToken, Task<SegmentSeal>> write, CancellationToken cancellationToken)
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
            // The upload sees it where it reads, commits nothing, and ends; where it was the one that failed, its error counts.
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
