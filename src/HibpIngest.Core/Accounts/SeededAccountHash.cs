using System.IO.Hashing;

namespace HibpIngest.Accounts;

/// <summary>
/// 128-bit hashes by which this process keeps accounts in memory. Two of 50 million accounts share one with a probability below 10^-23.
/// The seed is random, so that addresses that collide can't be prepared; hashes of another process differ.
/// </summary>
public static class SeededAccountHash
{
    private const int MaxAccountBytes = AccountRules.MaxAliasLength + AccountRules.MaxDomainLength;

    private static readonly long Seed = BitConverter.ToInt64(RandomNumberGenerator.GetBytes(sizeof(long)));

    /// <summary>Computes the hash of an account whose alias and domain follow each other.</summary>
    /// <remarks>The alias' length is part of the seed, so that a@bc.de and ab@c.de differ.</remarks>
    public static UInt128 Compute(ReadOnlySpan<byte> account, int aliasLength) => XxHash128.HashToUInt128(account, Seed + aliasLength);

    public static UInt128 Compute(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
    {
        var length = alias.Length + domain.Length;
        // Longer than any account, but no error: the table of subscribers limits no lengths.
        var account = length <= MaxAccountBytes ? stackalloc byte[MaxAccountBytes] : new byte[length];
        alias.CopyTo(account);
        domain.CopyTo(account[alias.Length..]);
        return Compute(account[..length], alias.Length);
    }

    /// <summary>Computes the hash of a domain as a whole, which is that of no account.</summary>
    public static UInt128 ComputeDomain(ReadOnlySpan<byte> domain) => Compute(domain, aliasLength: -1);
}
