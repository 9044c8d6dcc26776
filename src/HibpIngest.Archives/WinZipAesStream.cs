using System.Buffers;
using System.Runtime.InteropServices;

namespace HibpIngest.Archives;

/// <summary>
/// WinZip's AES encryption (AE-1 and AE-2): salt, two bytes that detect a wrong password, data in counter mode, and an authentication code
/// of ten bytes, checked after the data. Counter mode needs only AES itself, so a nested entry that is read forward can be decrypted too.
/// </summary>
internal sealed class WinZipAesStream : DecoderStream
{
    private const int BlockBytes = 16;
    private const int VerifierBytes = 2;
    private const int CodeBytes = 10;
    private const int Iterations = 1000;
    private const int KeyStreamBytes = 1024 * BlockBytes;

    private readonly SectionStream _section;
    private readonly Aes _aes;
    private readonly ICryptoTransform _encryptor;
    private readonly IncrementalHash _hmac;
    private readonly byte[] _counters;
    private readonly byte[] _keyStream;
    private long _counter;
    private int _keyStreamRead = KeyStreamBytes;
    private bool _verified;
    private bool _disposed;

    public WinZipAesStream(SectionStream section, string password, byte strength)
    {
        _section = section;
        var keyBytes = 8 * (strength + 1);
        var saltBytes = keyBytes / 2;
        if (section.Remaining < saltBytes + VerifierBytes + CodeBytes)
        {
            throw new DamagedDataException(
                "it is shorter than the salt, verifier and authentication code of AES encryption; the archive is damaged");
        }
        Span<byte> salt = stackalloc byte[saltBytes];
        section.ReadExactly(salt);
        Span<byte> verifier = stackalloc byte[VerifierBytes];
        section.ReadExactly(verifier);

        var secret = Encoding.UTF8.GetBytes(password);
        var keys = new byte[(2 * keyBytes) + VerifierBytes];
        try
        {
            Rfc2898DeriveBytes.Pbkdf2(secret, salt, keys, Iterations, HashAlgorithmName.SHA1);
            if (!verifier.SequenceEqual(keys.AsSpan(2 * keyBytes)))
                throw new DamagedDataException(ZipCryptoStream.WrongPassword) { NeedsPassword = true };
            _aes = Aes.Create();
            _aes.Mode = CipherMode.ECB; // encrypts the counters to make the key stream; no text passes through it
            _aes.Padding = PaddingMode.None;
            _aes.Key = keys[..keyBytes];
            _encryptor = _aes.CreateEncryptor();
            _hmac = IncrementalHash.CreateHMAC(HashAlgorithmName.SHA1, keys.AsSpan(keyBytes, keyBytes));
        }
        finally
        {
            CryptographicOperations.ZeroMemory(secret);
            CryptographicOperations.ZeroMemory(keys);
        }
        _counters = ArrayPool<byte>.Shared.Rent(KeyStreamBytes);
        _keyStream = ArrayPool<byte>.Shared.Rent(KeyStreamBytes);
        _counters.AsSpan(0, KeyStreamBytes).Clear();
    }

    public override int Read(Span<byte> buffer)
    {
        ObjectDisposedException.ThrowIf(_disposed, this);
        if (buffer.IsEmpty)
            return 0;
        var left = _section.Remaining - CodeBytes;
        if (left <= 0)
        {
            Verify();
            return 0;
        }
        if (_keyStreamRead == KeyStreamBytes)
            MakeKeyStream();
        var wanted = (int)Math.Min(Math.Min(left, buffer.Length), KeyStreamBytes - _keyStreamRead);
        var read = _section.Read(buffer[..wanted]);
        var data = buffer[..read];
        _hmac.AppendData(data);
        Xor(data, _keyStream.AsSpan(_keyStreamRead, read));
        _keyStreamRead += read;
        return read;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing && !_disposed)
        {
            _disposed = true;
            _encryptor.Dispose();
            _aes.Dispose();
            _hmac.Dispose();
            ArrayPool<byte>.Shared.Return(_counters);
            ArrayPool<byte>.Shared.Return(_keyStream, clearArray: true);
        }
        base.Dispose(disposing);
    }

    private void MakeKeyStream()
    {
        for (var at = 0; at < KeyStreamBytes; at += BlockBytes)
        {
            // The counter starts at 1 and is little-endian, unlike in other counter modes.
            BinaryPrimitives.WriteInt64LittleEndian(_counters.AsSpan(at), ++_counter);
        }
        _encryptor.TransformBlock(_counters, 0, KeyStreamBytes, _keyStream, 0);
        _keyStreamRead = 0;
    }

    private static void Xor(Span<byte> data, ReadOnlySpan<byte> mask)
    {
        var words = MemoryMarshal.Cast<byte, ulong>(data);
        var masks = MemoryMarshal.Cast<byte, ulong>(mask);
        for (var i = 0; i < words.Length; i++)
            words[i] ^= masks[i];
        for (var i = words.Length * sizeof(ulong); i < data.Length; i++)
            data[i] ^= mask[i];
    }

    private void Verify()
    {
        if (_verified)
            return;
        _verified = true;
        Span<byte> code = stackalloc byte[CodeBytes];
        _section.ReadExactly(code);
        if (!CryptographicOperations.FixedTimeEquals(code, _hmac.GetHashAndReset().AsSpan(0, CodeBytes)))
            throw new DamagedDataException("its AES authentication code does not match its data");
    }
}
