namespace HibpIngest.Archives;

/// <summary>Names a file's actual format by its magic number.</summary>
internal static class FoundFormat
{
    /// <returns>The format with its article; null: unknown, such as text.</returns>
    public static string? NameOf(ReadOnlySpan<byte> head) => head switch
    {
        [(byte)'P', (byte)'K', 3, 4, ..] => "a zip archive",
        [0x1F, 0x8B, ..] => "a gzip file",
        [0x37, 0x7A, 0xBC, 0xAF, ..] => "a 7z archive",
        [0x52, 0x61, 0x72, 0x21, ..] => "a RAR archive",
        [0x42, 0x5A, 0x68, _, 0x31, 0x41, 0x59, 0x26, ..] => "a bzip2 file",
        [0x28, 0xB5, 0x2F, 0xFD, ..] => "a Zstandard file",
        [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00, ..] => "an xz file",
        _ => TarHeader.Matches(head, needsMagic: true) ? "a tar archive" : null,
    };
}
