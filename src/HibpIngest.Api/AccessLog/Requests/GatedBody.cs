using System.IO.Pipelines;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Api.AccessLog.Requests;

/// <summary>A response body that sends nothing until its request is logged.</summary>
internal sealed class GatedBody(IHttpResponseBodyFeature inner, RequestEntry entry) : Stream, IHttpResponseBodyFeature
{
    private PipeWriter? _writer;

    Stream IHttpResponseBodyFeature.Stream => this;

    public PipeWriter Writer => _writer ??= PipeWriter.Create(this, new StreamPipeWriterOptions(leaveOpen: true));
    public override bool CanRead => false;
    public override bool CanSeek => false;
    public override bool CanWrite => true;
    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public void DisableBuffering() => inner.DisableBuffering();

    public async Task StartAsync(CancellationToken cancellationToken = default)
    {
        await entry.PassAsync();
        await inner.StartAsync(cancellationToken);
    }

    public async Task SendFileAsync(string path, long offset, long? count, CancellationToken cancellationToken = default)
    {
        await entry.PassAsync();
        await inner.SendFileAsync(path, offset, count, cancellationToken);
    }

    public async Task CompleteAsync()
    {
        if (_writer is not null)
            await _writer.FlushAsync();
        await entry.PassAsync();
        await inner.CompleteAsync();
    }

    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        await entry.PassAsync();
        await inner.Stream.WriteAsync(buffer, cancellationToken);
    }

    public override async Task FlushAsync(CancellationToken cancellationToken)
    {
        await entry.PassAsync();
        await inner.Stream.FlushAsync(cancellationToken);
    }

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    // Responses are only written asynchronously: the server forbids synchronous I/O.
    public override void Flush() => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();
}
