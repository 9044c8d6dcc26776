namespace HibpIngest.Passwords.Import.Drops;

/// <summary>One version of a dropped file, read in ranges.</summary>
internal sealed class DropReader(IPasswordDrops drops, DroppedPasswords file)
{
    public string Name => file.Name;

    public long Length => file.Length;

    /// <summary>Reads bytes from an offset, at most <paramref name="most"/>.</summary>
    /// <exception cref="FileReplacedException">This version of the file no longer exists.</exception>
    public async Task<ReadOnlyMemory<byte>> ReadAsync(long offset, int most, CancellationToken cancellationToken)
    {
        var length = (int)Math.Min(most, file.Length - offset);
        return length == 0 ? ReadOnlyMemory<byte>.Empty
            : await drops.ReadAsync(file, offset, length, cancellationToken) ?? throw new FileReplacedException();
    }
}
