using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Org.BouncyCastle.Crypto.Digests;

namespace HibpIngest.Passwords.Import;

/// <summary>Lines of one UTF-8 password each, hashed for both modes; empty lines and a byte order mark are skipped.</summary>
internal sealed class PasswordLines(string name, long lines) : ILineReader
{
    /// <summary>The maximum length of a password in bytes: far above any real one, so that a binary file is noticed.</summary>
    public const int MaxLineBytes = 1 << 16;

    private readonly PasswordHasher _hasher = new();
    private readonly byte[] _hash = new byte[20];

    public long Lines { get; private set; } = lines;

    public int RowsOfLine => 2;

    public long ZeroRows => 0;

    public (int Rows, int Bytes) Read(ReadOnlySpan<byte> text, bool isEnd, Span<HashCount> rows)
    {
        var (count, at) = (0, 0);
        while (count + RowsOfLine <= rows.Length && at < text.Length)
        {
            if (LineEnds.Find(text[at..], isEnd, crEnds: false) is not { } found)
            {
                if (text.Length - at > MaxLineBytes)
                    throw TooLong();
                break;
            }
            var line = text.Slice(at, found.Bytes);
            if (line.Length > MaxLineBytes)
                throw TooLong();
            if (Lines == 0 && line.StartsWith(LineEnds.ByteOrderMark))
                line = line[LineEnds.ByteOrderMark.Length..];
            if (!line.IsEmpty)
            {
                foreach (var mode in HashModes.All)
                {
                    var hash = _hash.AsSpan(0, mode.Bytes());
                    _hasher.Hash(mode, line, hash);
                    rows[count++] = new HashCount(hash, 1);
                }
            }
            Lines++;
            at += found.WithEnd;
        }
        return (count, at);
    }

    private BadInputException TooLong() => new(
        $"'{name}', line {Lines + 1}: expected a password of at most {MaxLineBytes:N0} bytes, found more; is it a list of one "
        + "password a line? Fix or remove the line and import again");
}

/// <summary>Hashes passwords for each mode. Not thread-safe.</summary>
internal sealed class PasswordHasher
{
    // .NET has no MD4.
    private readonly MD4Digest _md4 = new();
    private char[] _characters = new char[256];

    /// <param name="password">UTF-8. Invalid bytes are hashed as they are for SHA-1, and as U+FFFD for NTLM (UTF-16).</param>
    [SuppressMessage(
        "Security", "CA5350:Do Not Use Weak Cryptographic Algorithms",
        Justification = "it is the name by which others ask for a password, and protects nothing")]
    public void Hash(HashMode mode, ReadOnlySpan<byte> password, Span<byte> hash)
    {
        if (mode == HashMode.Sha1)
        {
            SHA1.HashData(password, hash);
            return;
        }
        if (_characters.Length < password.Length)
            _characters = new char[password.Length];
        var characters = _characters.AsSpan(0, Encoding.UTF8.GetChars(password, _characters));
        if (!BitConverter.IsLittleEndian)
        {
            foreach (ref var character in characters)
                character = (char)System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(character);
        }
        _md4.BlockUpdate(MemoryMarshal.AsBytes(characters));
        _md4.DoFinal(hash);
        characters.Clear();
    }
}
