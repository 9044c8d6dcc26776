using System.Diagnostics.CodeAnalysis;

namespace HibpIngest.Accounts;

/// <summary>SHA-1 of an account's address in the form that the range tables use: 40 upper-case hex digits.</summary>
public static class AccountHash
{
    public const int Digits = 40;

    /// <summary>Leading digits that form the partition key; the remaining digits form the row key.</summary>
    public const int PartitionDigits = 2;
    public const int RowDigits = Digits - PartitionDigits;

    /// <summary>Alias 64, @ 1, domain 255.</summary>
    private const int MaxAddressBytes = 320;

    /// <summary>Computes the hash of <c>alias@domain</c> (lower-case ASCII).</summary>
    /// <param name="alias">At most 64 bytes.</param>
    /// <param name="domain">At most 255 bytes.</param>
    /// <param name="hash">Receives the 20 bytes.</param>
    [SuppressMessage(
        "Security", "CA5350:Do Not Use Weak Cryptographic Algorithms",
        Justification = "it is the name by which others ask for an account, and protects nothing")]
    public static void Compute(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain, Span<byte> hash)
    {
        Span<byte> address = stackalloc byte[MaxAddressBytes];
        alias.CopyTo(address);
        address[alias.Length] = (byte)'@';
        domain.CopyTo(address[(alias.Length + 1)..]);
        SHA1.HashData(address[..(alias.Length + 1 + domain.Length)], hash);
    }

    /// <summary>Writes the row key of <c>alias@domain</c> (lower-case ASCII).</summary>
    /// <param name="alias">At most 64 bytes.</param>
    /// <param name="domain">At most 255 bytes.</param>
    /// <param name="row">Receives the last 38 hex digits.</param>
    /// <returns>The first byte of the hash, whose two digits are the partition key.</returns>
    public static byte Write(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain, Span<byte> row)
    {
        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
        Compute(alias, domain, hash);
        Convert.TryToHexString(hash[1..], row, out _);
        return hash[0];
    }
}
