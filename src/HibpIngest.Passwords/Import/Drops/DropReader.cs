namespace HibpIngest.Passwords.Import.Drops;

internal sealed class DropReader(IPasswordDrops drops, DroppedPasswords file)
{
    public string Name => file.Name;

    public long Length => file.Length;

    public async Task<ReadOnlyMemory<byte>> ReadAsync(long offset, int maxBytes, CancellationToken cancellationToken)
    {
        var length = (int)Math.Min(maxBytes, file.Length - offset);
        return length == 0 ? ReadOnlyMemory<byte>.Empty
            : await drops.ReadAsync(file, offset, length, cancellationToken) ?? throw new FileReplacedException();
    }
}

internal sealed class FileReplacedException()
    : HibpException("a dropped file was replaced or deleted while it was being read; the current version is imported instead");
