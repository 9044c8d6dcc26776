namespace HibpIngest.Stores;

/// <summary>Calls clients back. Thread-safe.</summary>
public interface ICallbackSender : IAsyncDisposable
{
    /// <summary>
    /// Makes one call within <see cref="CallbackClient.CallTimeout"/>. Every failure of the receiver or of the network is returned as a
    /// <see cref="CallResponse"/>, not thrown. After cancellation it is unknown whether the call arrived.
    /// </summary>
    /// <param name="body">JSON.</param>
    /// <param name="idempotencyKey">The same for every attempt of the call.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled before a status arrived.</exception>
    /// <exception cref="ArgumentException">The secret or the key is invalid in a header; the message holds neither.</exception>
    Task<CallResponse> CallAsync(CallTarget target, ReadOnlyMemory<byte> body, string idempotencyKey, CancellationToken cancellationToken);
}

/// <param name="Secret">Sent as <c>Authorization: Bearer</c>.</param>
public sealed record CallTarget(Uri Url, string Secret)
{
    /// <summary>Omits the URL and the secret, so that neither is logged.</summary>
    public override string ToString() => nameof(CallTarget);
}

/// <param name="Status">HTTP status; 0: no response.</param>
/// <param name="RetryAfter">Delay that the receiver asks for (Retry-After of 429 and 503).</param>
/// <param name="Error">One line: why the call was not accepted; null if it was. Of the URL it holds only the resolved IP address, and
/// nothing of the secret or the body.</param>
public readonly record struct CallResponse(CallOutcome Outcome, int Status, TimeSpan? RetryAfter, string? Error);

public enum CallOutcome
{
    /// <summary>2xx.</summary>
    Accepted,

    /// <summary>429, or 503 with Retry-After: no call to this client for now.</summary>
    Throttled,

    /// <summary>410: never call again.</summary>
    Gone,

    /// <summary>Any other status, including redirects.</summary>
    Refused,

    /// <summary>No response in time, a response that isn't HTTP, or no connection.</summary>
    Unreachable,

    Forbidden,
}
