namespace HibpIngest.Api.AccessLog;

/// <summary>Takes a record of each request. Thread-safe.</summary>
public interface IAccessLog
{
    /// <summary>Completes when the record is durable; the response may be sent then.</summary>
    /// <exception cref="UnavailableException">The record isn't durable. The caller must answer 503, which the log records too.</exception>
    ValueTask AppendAsync(in AccessRecord record);

    /// <summary>
    /// Takes a record to be written after the response. Without room (the store is down or far too slow) it is dropped and counted.
    /// </summary>
    void Add(in AccessRecord record);
}

/// <summary>The stored facts of a request: never a value from its path, an email address or an IP address.</summary>
/// <param name="Microseconds">Time of the response, since 1970 UTC.</param>
/// <param name="DurationMicroseconds">Duration of the request.</param>
/// <param name="Bytes">Size of the response's body; <see cref="UnknownBytes"/>: not known before it is sent.</param>
/// <param name="Key">First 8 bytes of the key's SHA-256, in memory order; 0: no key.</param>
/// <param name="Route">Index of the route's template among those that the log was opened with.</param>
public readonly record struct AccessRecord(
    long Microseconds, uint DurationMicroseconds, uint Bytes, ulong Key, ushort Route, ushort Status, ClientKind Client)
{
    public const uint UnknownBytes = uint.MaxValue;

    /// <summary>The key as 16 lower-case hex digits; empty: no key.</summary>
    public string KeyText => Key == 0 ? "" : Convert.ToHexStringLower(BitConverter.GetBytes(Key));
}

/// <summary>The access log can't be written, so a request that must be logged before it is answered is refused.</summary>
public sealed class AccessLogDownException(string reason) : UnavailableException($"the access log can't be written: {reason}")
{
    public static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(2);
}
