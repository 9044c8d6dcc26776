using System.Buffers;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Web;

/// <summary>A request's body, read whole into pooled memory: of the few routes that take one.</summary>
internal sealed class RequestBody : IDisposable
{
    // Of one whose length isn't known before.
    private const int FirstBytes = 64 * 1024;

    /// <summary>
    /// What the server itself lets a request send to a route that takes a body. More than any route takes: what was refused unread is
    /// read and thrown away for some seconds, or a client that is still sending would lose its answer; and what comes in chunks counts
    /// with what is around them.
    /// </summary>
    private const long MostOnTheWire = 64 << 20;

    // A megabit a second, for the longest there may be.
    private static readonly TimeSpan ReadWithin = TimeSpan.FromMinutes(2);

    private static readonly object ReadToItsEnd = new();

    private byte[] _bytes;
    private int _length;

    private RequestBody(int bytes) => _bytes = ArrayPool<byte>.Shared.Rent(bytes);

    /// <summary>Until it is disposed.</summary>
    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _length);

    /// <summary>Whether there is nothing left of the request behind what was read.</summary>
    public static bool WasRead(HttpContext context) => context.Items.ContainsKey(ReadToItsEnd);

    /// <summary>Lets a request have a body, which no request may otherwise. To be called before anything of it is read.</summary>
    public static void Allow(HttpContext context)
    {
        if (context.Features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } size)
            size.MaxRequestBodySize = MostOnTheWire;
    }

    public static bool IsLonger(HttpRequest request, int most) => request.ContentLength > most;

    /// <summary>Reads it; null: it is longer than that.</summary>
    /// <exception cref="BadHttpRequestException">It was broken off, or did not come in time.</exception>
    public static async Task<RequestBody?> ReadAsync(HttpContext context, int most, TimeProvider time)
    {
        if (IsLonger(context.Request, most))
            return null;
        using var late = new CancellationTokenSource(ReadWithin, time);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(late.Token, context.RequestAborted);
        // One more than it says, so that its end is seen without another array.
        var body = new RequestBody((int)(context.Request.ContentLength ?? Math.Min(most, FirstBytes)) + 1);
        try
        {
            while (true)
            {
                var read = await context.Request.BodyReader.ReadAsync(stop.Token);
                var isWithin = body._length + read.Buffer.Length <= most;
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
                    new BadHttpRequestException("the request's body did not come in time", StatusCodes.Status408RequestTimeout, e),
                IOException and not BadHttpRequestException => new BadHttpRequestException("the request's body was broken off", e),
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
