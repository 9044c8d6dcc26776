namespace HibpIngest.Stores;

/// <summary>Calls clients back. Safe for use by several threads at once.</summary>
public interface ICallbackSender : IAsyncDisposable
{
    /// <summary>
    /// Makes one call, within <see cref="CallbackClient.CallTimeout"/>. What comes of it is an answer, whatever the receiver or the way to
    /// it does; nothing is thrown for that.
    /// </summary>
    /// <param name="body">JSON.</param>
    /// <param name="idempotencyKey">The same for every try of the call.</param>
    /// <param name="cancellationToken">Breaks it off: it is then not known whether it has arrived.</param>
    /// <exception cref="OperationCanceledException">It was broken off by the token, and by nothing else, before there
    /// was a status.</exception>
    /// <exception cref="ArgumentException">The secret or the key can't stand in a header; the message holds neither.</exception>
    Task<CallAnswer> CallAsync(CallTarget target, ReadOnlyMemory<byte> body, string idempotencyKey, CancellationToken cancellationToken);
}

/// <param name="Secret">What it is called with: <c>Authorization: Bearer</c>.</param>
public sealed record CallTarget(Uri Url, string Secret)
{
    /// <summary>Nothing of it: neither is for a log.</summary>
    public override string ToString() => nameof(CallTarget);
}

/// <summary>What came of a call.</summary>
/// <param name="Status">Of the answer; 0: there was none.</param>
/// <param name="RetryAfter">As long the receiver asks not to be called (Retry-After of 429 and 503).</param>
/// <param name="Error">One line that says why it is not accepted, with nothing of the address but what it resolves to,
/// of the secret or of the body; null where it is.</param>
public readonly record struct CallAnswer(CallOutcome Outcome, int Status, TimeSpan? RetryAfter, string? Error);

public enum CallOutcome
{
    /// <summary>2xx.</summary>
    Accepted,

    /// <summary>429, or 503 with Retry-After: not now, and no other call either.</summary>
    Throttled,

    /// <summary>410: never again.</summary>
    Gone,

    /// <summary>Any other status, a redirect among them.</summary>
    Refused,

    /// <summary>There was no answer in time, none that is HTTP, or no connection.</summary>
    Unreachable,

    /// <summary>Its address is not one that may be called.</summary>
    Forbidden,
}
