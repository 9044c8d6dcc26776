namespace HibpIngest.Storage.Azure.Blobs;

internal sealed class BlobBody(Stream content, string operation) : ForwardStream
{
    public override int Read(byte[] buffer, int offset, int count) => StorageCall.RunAsync(
        operation, () => Task.FromResult(content.Read(buffer, offset, count)), CancellationToken.None).GetAwaiter().GetResult();

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) => new(
        StorageCall.RunAsync(operation, async () => await content.ReadAsync(buffer, cancellationToken), cancellationToken));

    protected override void Dispose(bool disposing)
    {
        if (disposing)
            content.Dispose();
        base.Dispose(disposing);
    }
}
