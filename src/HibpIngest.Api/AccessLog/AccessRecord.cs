namespace HibpIngest.Api.AccessLog;

/// <summary>The stored facts of a request: never a value from its path, an email address or an IP address.</summary>
/// <param name="Microseconds">Time of the response, since 1970 UTC.</param>
/// <param name="DurationMicroseconds">Duration of the request.</param>
/// <param name="Bytes">Size of the response's body; <see cref="UnknownBytes"/>: not known before it is sent.</param>
/// <param name="Key">First 8 bytes of the key's SHA-256, in memory order; 0: no key.</param>
/// <param name="Route">Index of the route's template among those that the log was opened with.</param>
public readonly record struct AccessRecord(
    long Microseconds, uint DurationMicroseconds, uint Bytes, ulong Key, ushort Route, ushort Status, ClientKind Client)
{
    /// <summary>Value of <see cref="Bytes"/> if the size is unknown.</summary>
    public const uint UnknownBytes = uint.MaxValue;

    /// <summary>The key as 16 lower-case hex digits; empty: no key.</summary>
    public string KeyText => Key == 0 ? "" : Convert.ToHexStringLower(BitConverter.GetBytes(Key));
}
