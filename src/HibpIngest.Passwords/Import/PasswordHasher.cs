using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text;
using Org.BouncyCastle.Crypto.Digests;

namespace HibpIngest.Passwords.Import;

/// <summary>Hashes passwords for each mode. Not thread-safe.</summary>
internal sealed class PasswordHasher
{
    // .NET has no MD4.
    private readonly MD4Digest _md4 = new();
    private char[] _characters = new char[256];

    /// <param name="password">In UTF-8. Invalid bytes are hashed as they are for SHA-1, and as U+FFFD for NTLM, which hashes UTF-16
    /// characters.</param>
    /// <param name="hash">Must have the length of the mode's hashes.</param>
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
