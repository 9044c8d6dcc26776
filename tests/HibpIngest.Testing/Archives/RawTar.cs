namespace HibpIngest.Testing;

/// <summary>Writes a tar block by block, so that any field can be wrong.</summary>
internal sealed class RawTar
{
    private readonly MemoryStream _bytes = new();

    /// <param name="size">The size field; null: the true size.</param>
    public RawTar Add(string name, byte[] data, char type = '0', string? size = null, Action<byte[]>? change = null)
    {
        var header = new byte[512];
        Encoding.UTF8.GetBytes(name).CopyTo(header, 0);
        Encoding.ASCII.GetBytes("0000644\0").CopyTo(header, 100);
        Encoding.Latin1.GetBytes(size ?? Convert.ToString(data.Length, 8).PadLeft(11, '0') + "\0").CopyTo(header, 124);
        header[156] = (byte)type;
        "ustar\0"u8.CopyTo(header.AsSpan(257));
        "00"u8.CopyTo(header.AsSpan(263));
        change?.Invoke(header);
        header.AsSpan(148, 8).Fill((byte)' ');
        var sum = header.Sum(one => one);
        Encoding.ASCII.GetBytes(Convert.ToString(sum, 8).PadLeft(6, '0') + "\0 ").CopyTo(header, 148);
        _bytes.Write(header);
        return Block(data);
    }

    /// <summary>Adds bytes without a header, padded to a full block.</summary>
    public RawTar Block(byte[] data)
    {
        _bytes.Write(data);
        _bytes.Write(new byte[-data.Length & 511]);
        return this;
    }

    public byte[] Finish() => [.. _bytes.ToArray(), .. new byte[1024]];
}
