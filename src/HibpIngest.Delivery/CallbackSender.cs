using System.Buffers;
using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;

namespace HibpIngest.Delivery;

/// <summary>Calls clients over HTTPS, at public addresses only (<see cref="PublicConnections"/>). Safe for concurrent use.</summary>
public sealed class CallbackSender : ICallbackSender
{
    private const string UserAgent = "HibpIngest";
    private const string NotHttps = "its address is not an https URL";
    private const string NoTls = "no TLS connection: its certificate is not trusted or not for its name, or its port speaks no TLS";

    // A response body of at most this size is read and discarded, so that the connection can be reused.
    private const int MaxAnswerBytes = 64 * 1024;
    private const int ReadBytes = 8 * 1024;

    // Caps Retry-After, so that a receiver can't postpone its calls forever.
    private static readonly TimeSpan MaxRetryAfter = TimeSpan.FromDays(1);

    private readonly HttpMessageInvoker _http;
    private readonly TimeProvider _time;
    private readonly bool _allowsLoopback;

    /// <param name="time">Clock for call timeouts and for dates in responses.</param>
    /// <param name="allowsLoopback">For tests: also allows http and loopback addresses.</param>
    public CallbackSender(TimeProvider time, bool allowsLoopback)
        : this(time, allowsLoopback, resolve: null)
    {
    }

    internal CallbackSender(
        TimeProvider time, bool allowsLoopback, Func<string, CancellationToken, Task<IPAddress[]>>? resolve,
        Func<IPAddress[], int, CancellationToken, Task<Stream>>? connect = null, X509Certificate2Collection? trustedRoots = null)
    {
        (_time, _allowsLoopback) = (time, allowsLoopback);
        Handler = new PublicConnections(allowsLoopback, resolve, connect).CreateHandler(trustedRoots);
        Handler.MaxConnectionsPerServer = CallbackClient.MaxCap;
        _http = new HttpMessageInvoker(Handler);
    }

    internal SocketsHttpHandler Handler { get; }

    public async Task<CallResponse> CallAsync(
        CallTarget target, ReadOnlyMemory<byte> body, string idempotencyKey, CancellationToken cancellationToken)
    {
        if (!target.Url.IsAbsoluteUri
            || target.Url.Scheme != Uri.UriSchemeHttps && !(_allowsLoopback && target.Url.Scheme == Uri.UriSchemeHttp))
            return new CallResponse(CallOutcome.Forbidden, 0, null, NotHttps);
        using var request = NewRequest(target, body, idempotencyKey);
        using var limit = new CancellationTokenSource(CallbackClient.CallTimeout, _time);
        using var both = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, limit.Token);
        try
        {
            using var response = await _http.SendAsync(request, both.Token);
            var answer = AnswerOf(response);
            await ReadToEndAsync(response, both.Token);
            return answer;
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            throw new OperationCanceledException(cancellationToken);
        }
        catch (OperationCanceledException)
        {
            return Unreachable(
                limit.IsCancellationRequested ? $"it gave no answer within {CallbackClient.CallTimeout.TotalSeconds:0} s"
                : $"there was no connection to it within {PublicConnections.ConnectTimeout.TotalSeconds:0} s");
        }
        catch (HttpRequestException e)
        {
            return Failed(e);
        }
    }

    /// <summary>Closes the connections; call it when no call is in progress.</summary>
    public ValueTask DisposeAsync()
    {
        _http.Dispose();
        return ValueTask.CompletedTask;
    }

    private static HttpRequestMessage NewRequest(CallTarget target, ReadOnlyMemory<byte> body, string idempotencyKey)
    {
        var request = new HttpRequestMessage(HttpMethod.Post, target.Url)
        {
            // One call at a time over a connection, so that a client's cap equals its number of connections.
            Version = HttpVersion.Version11,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = new ReadOnlyMemoryContent(body),
        };
        Add(request.Content.Headers, "Content-Type", "application/json");
        Add(request.Headers, "Authorization", "Bearer " + target.Secret);
        Add(request.Headers, "Idempotency-Key", idempotencyKey);
        Add(request.Headers, "User-Agent", UserAgent);
        return request;
    }

    // TryAddWithoutValidation instead of Add, whose exception message contains the value. The check keeps line ends out.
    private static void Add(HttpHeaders headers, string name, string value)
    {
        if (value.AsSpan().ContainsAnyExceptInRange(' ', '~') || !headers.TryAddWithoutValidation(name, value))
            throw new ArgumentException($"the value of {name} is not valid in a header", nameof(value));
    }

    /// <summary>Reads and discards the rest of a response. The outcome of the call is known, so errors are ignored.</summary>
    private static async Task ReadToEndAsync(HttpResponseMessage response, CancellationToken cancellationToken)
    {
        if (response.Content.Headers.ContentLength is 0 or > MaxAnswerBytes)
            return;
        var buffer = ArrayPool<byte>.Shared.Rent(ReadBytes);
        try
        {
            var content = await response.Content.ReadAsStreamAsync(cancellationToken);
            int read;
            for (var total = 0; total <= MaxAnswerBytes && (read = await content.ReadAsync(buffer, cancellationToken)) > 0; total += read)
            {
            }
        }
        catch (Exception e) when (e is OperationCanceledException or IOException or HttpRequestException)
        {
            // The connection is not reused; there is no other effect.
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    private CallResponse AnswerOf(HttpResponseMessage response)
    {
        var status = (int)response.StatusCode;
        var answered = $"it answered {status}";
        switch (status)
        {
            case >= 200 and < 300:
                return new CallResponse(CallOutcome.Accepted, status, null, null);
            case 410:
                return new CallResponse(CallOutcome.Gone, status, null, $"{answered}: it must not be called again");
            case >= 300 and < 400:
                return new CallResponse(
                    CallOutcome.Refused, status, null, $"{answered}, and redirects are not followed: its address must be the final one");
            case 429 or 503:
                var hasRetryAfter = response.Headers.NonValidated.TryGetValues("Retry-After", out var values);
                if (!hasRetryAfter && status == 503)
                    break;
                return new CallResponse(
                    CallOutcome.Throttled, status, hasRetryAfter ? RetryAfter(values.ToString()) : null,
                    $"{answered}: it must not be called now");
        }
        return new CallResponse(CallOutcome.Refused, status, null, answered);
    }

    /// <summary>Parses seconds or a date (RFC 9110, 10.2.3), clamped to 0 to <see cref="MaxRetryAfter"/>.</summary>
    private TimeSpan? RetryAfter(string text)
    {
        text = text.Trim();
        TimeSpan delay;
        // A number that overflows int means a long time.
        if (text.Length > 0 && !text.AsSpan().ContainsAnyExceptInRange('0', '9'))
            delay = int.TryParse(text, out var seconds) ? TimeSpan.FromSeconds(seconds) : MaxRetryAfter;
        else if (RetryConditionHeaderValue.TryParse(text, out var parsed) && parsed.Date is { } date)
            delay = date - _time.GetUtcNow();
        else
            return null;
        if (delay < TimeSpan.Zero)
            return TimeSpan.Zero;
        return delay < MaxRetryAfter ? delay : MaxRetryAfter;
    }

    private static CallResponse Unreachable(string error) => new(CallOutcome.Unreachable, 0, null, error);

    /// <summary>Describes the failure without the exceptions' messages, which contain the host name.</summary>
    private static CallResponse Failed(HttpRequestException failure)
    {
        for (Exception? e = failure; e is not null; e = e.InnerException)
        {
            switch (e)
            {
                case ForbiddenAddressException forbidden:
                    return new CallResponse(
                        CallOutcome.Forbidden, 0, null, $"its address resolves to {forbidden.Address}, which is not a public address");
                case AuthenticationException:
                    return Unreachable(NoTls);
                case SocketException socket:
                    return Unreachable(socket.SocketErrorCode switch
                    {
                        SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain or SocketError.NoRecovery =>
                            $"its name does not resolve ({socket.SocketErrorCode})",
                        var code => $"the connection to it failed ({code})",
                    });
            }
        }
        return Unreachable(failure.HttpRequestError switch
        {
            HttpRequestError.SecureConnectionError => NoTls,
            HttpRequestError.ResponseEnded => "it closed the connection before it answered",
            HttpRequestError.InvalidResponse => "it answered something that is not HTTP/1.1",
            HttpRequestError.ConfigurationLimitExceeded => $"it answered more than {PublicConnections.MaxHeaderKilobytes} KB of headers",
            var error => $"the call to it failed ({error})",
        });
    }
}
