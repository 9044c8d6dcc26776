using System.Runtime.CompilerServices;

namespace HibpIngest.Passwords.Import;

/// <summary>A chunk of the spool.</summary>
/// <param name="Offset">The offset of the chunk's link; negative if there is no chunk.</param>
internal readonly record struct ChunkPlace(long Offset, int Rows)
{
    /// <summary>Size of the link at a chunk's beginning: offset (8 bytes) and rows (4) of the previous chunk, and the bucket (4).</summary>
    public const int LinkBytes = 16;

    public static readonly ChunkPlace None = new(-1, 0);

    public static int RowBytes => Unsafe.SizeOf<HashCount>();

    public bool IsWithin(long length) =>
        this == None || (Offset >= 0 && Rows > 0 && Offset <= length - LinkBytes - ((long)Rows * RowBytes));
}
