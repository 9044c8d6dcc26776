using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>One version of a dropped file, read in ranges.</summary>
internal sealed class DropReader(IPasswordDrops drops, DroppedPasswords file)
{
    public string Name => file.Name;

    public long Length => file.Length;

    /// <summary>Bytes from an offset on: as many as that, or all that are left.</summary>
    /// <exception cref="FileReplacedException">There is no such version any more.</exception>
    public async Task<ReadOnlyMemory<byte>> ReadAsync(long offset, int most, CancellationToken cancellationToken)
    {
        var length = (int)Math.Min(most, file.Length - offset);
        return length == 0 ? ReadOnlyMemory<byte>.Empty
            : await drops.ReadAsync(file, offset, length, cancellationToken) ?? throw new FileReplacedException();
    }
}
