namespace HibpIngest.AccessLog;

/// <summary>What is kept of a request: never a value of its path, an address or an IP.</summary>
/// <param name="Microseconds">When it was answered, since 1970 UTC.</param>
/// <param name="DurationMicroseconds">How long the answer took.</param>
/// <param name="Bytes">Of the answer's body; <see cref="UnknownBytes"/> where that is not known before it is sent.</param>
/// <param name="Key">First 8 bytes of the key's SHA-256, as they would be read from memory; 0: it came without one.</param>
/// <param name="Route">Place of the route's template among those that the log was opened with.</param>
public readonly record struct AccessRecord(
    long Microseconds, uint DurationMicroseconds, uint Bytes, ulong Key, ushort Route, ushort Status, ClientKind Client)
{
    /// <summary>Instead of bytes, where it is not known how many there will be.</summary>
    public const uint UnknownBytes = uint.MaxValue;

    /// <summary>The key as it is shown: 16 lower-case hex digits, or nothing.</summary>
    public string KeyText => Key == 0 ? "" : Convert.ToHexStringLower(BitConverter.GetBytes(Key));
}
