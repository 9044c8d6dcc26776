namespace HibpIngest.Archives;

/// <summary>PKWARE's traditional encryption (APPNOTE 6.1): weak, but still what `zip -e` produces.</summary>
internal sealed class ZipCryptoStream : DecoderStream
{
    public const string WrongPassword = "it is encrypted and the password does not open it";

    private const int HeaderBytes = 12;

    private static readonly uint[] CrcTable = [.. Enumerable.Range(0, 256).Select(static index =>
    {
        var value = (uint)index;
        for (var bit = 0; bit < 8; bit++)
            value = (value & 1) != 0 ? (value >> 1) ^ 0xEDB88320 : value >> 1;
        return value;
    })];

    private readonly SectionStream _section;
    private uint _key0 = 0x12345678;
    private uint _key1 = 0x23456789;
    private uint _key2 = 0x34567890;

    /// <exception cref="DamagedDataException">The password is wrong. A check byte in the header detects all but one in 256.</exception>
    public ZipCryptoStream(SectionStream section, string password, ZipHeader entry)
    {
        _section = section;
        var secret = Encoding.UTF8.GetBytes(password);
        foreach (var value in secret)
            Update(value);
        CryptographicOperations.ZeroMemory(secret);

        if (section.Remaining < HeaderBytes)
            throw new DamagedDataException("it is shorter than its encryption header; the archive is damaged");
        Span<byte> header = stackalloc byte[HeaderBytes];
        section.ReadExactly(header);
        Decrypt(header);
        // Writers that don't know the CRC-32 yet use the time as the check byte; some use it in any case.
        var check = header[HeaderBytes - 1];
        if (check != entry.Crc >> 24 && !(entry.HasDescriptor && check == entry.ModifiedTime >> 8))
            throw new DamagedDataException(WrongPassword) { NeedsPassword = true };
    }

    public override int Read(Span<byte> buffer)
    {
        var read = _section.Read(buffer);
        Decrypt(buffer[..read]);
        return read;
    }

    private void Decrypt(Span<byte> data)
    {
        for (var i = 0; i < data.Length; i++)
        {
            var mask = (_key2 | 2) & 0xFFFF;
            data[i] ^= (byte)((mask * (mask ^ 1)) >> 8);
            Update(data[i]);
        }
    }

    private void Update(byte plain)
    {
        _key0 = CrcTable[(byte)(_key0 ^ plain)] ^ (_key0 >> 8);
        _key1 = ((_key1 + (byte)_key0) * 134775813) + 1;
        _key2 = CrcTable[(byte)(_key2 ^ (_key1 >> 24))] ^ (_key2 >> 8);
    }
}
