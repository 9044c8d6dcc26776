using System.Buffers;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Api.Requests;

/// <summary>A request's body, read completely into pooled memory; used by the few routes that take one.</summary>
internal sealed class RequestBody : IDisposable
{
    // Initial buffer for a body whose length isn't declared.
    private const int FirstBytes = 64 * 1024;

    /// <summary>
    /// The server's own limit for a request to a route that takes a body. It exceeds every route's limit for two reasons: a body that was
    /// refused unread is drained for some seconds, because a client that is still sending would lose the response otherwise; and a chunked
    /// body counts with its framing.
    /// </summary>
    private const long MaxOnTheWire = 64 << 20;

    // Half a megabit a second, for the longest body (8 MiB).
    private static readonly TimeSpan ReadWithin = TimeSpan.FromMinutes(2);

    private static readonly object ReadToItsEnd = new();

    private byte[] _bytes;
    private int _length;

    private RequestBody(int bytes) => _bytes = ArrayPool<byte>.Shared.Rent(bytes);

    /// <summary>Valid until disposal.</summary>
    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _length);

    public static bool WasRead(HttpContext context) => context.Items.ContainsKey(ReadToItsEnd);

    /// <summary>Allows a request to have a body, which is otherwise refused. Must be called before any of it is read.</summary>
    public static void Allow(HttpContext context)
    {
        if (context.Features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } size)
            size.MaxRequestBodySize = MaxOnTheWire;
    }

    public static bool IsLonger(HttpRequest request, int maxBytes) => request.ContentLength > maxBytes;

    /// <returns>Null if it is longer than <paramref name="maxBytes"/> bytes.</returns>
    /// <exception cref="BadHttpRequestException">It was truncated, or did not arrive in time.</exception>
    public static async Task<RequestBody?> ReadAsync(HttpContext context, int maxBytes, TimeProvider time)
    {
        if (IsLonger(context.Request, maxBytes))
            return null;
        using var late = new CancellationTokenSource(ReadWithin, time);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(late.Token, context.RequestAborted);
        // One byte more than declared, so that the end is detected without another array.
        var body = new RequestBody((int)(context.Request.ContentLength ?? Math.Min(maxBytes, FirstBytes)) + 1);
        try
        {
            while (true)
            {
                var read = await context.Request.BodyReader.ReadAsync(stop.Token);
                var isWithin = body._length + read.Buffer.Length <= maxBytes;
                if (isWithin)
                    body.Add(read.Buffer);
                context.Request.BodyReader.AdvanceTo(read.Buffer.End);
                if (!isWithin)
                {
                    body.Dispose();
                    return null;
                }
                if (read.IsCompleted)
                    break;
            }
            context.Items[ReadToItsEnd] = ReadToItsEnd;
            return body;
        }
        catch (Exception e)
        {
            body.Dispose();
            throw e switch
            {
                OperationCanceledException when late.IsCancellationRequested && !context.RequestAborted.IsCancellationRequested =>
                    new BadHttpRequestException("the request's body did not arrive in time", StatusCodes.Status408RequestTimeout, e),
                IOException and not BadHttpRequestException => new BadHttpRequestException("the request's body was cut off", e),
                _ => e,
            };
        }
    }

    public void Dispose()
    {
        if (_bytes.Length > 0)
            ArrayPool<byte>.Shared.Return(_bytes, clearArray: true);
        (_bytes, _length) = ([], 0);
    }

    private void Add(ReadOnlySequence<byte> bytes)
    {
        var length = _length + (int)bytes.Length;
        if (length > _bytes.Length)
        {
            var longer = ArrayPool<byte>.Shared.Rent(Math.Max(length, 2 * _bytes.Length));
            Bytes.CopyTo(longer);
            ArrayPool<byte>.Shared.Return(_bytes, clearArray: true);
            _bytes = longer;
        }
        bytes.CopyTo(_bytes.AsSpan(_length));
        _length = length;
    }
}
