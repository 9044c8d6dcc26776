namespace HibpIngest.Cli.Samples;

/// <summary>
/// SplitMix64 (Steele, Lea, Flood 2014), implemented here because a sample must be the same on every runtime version, which System.Random
/// doesn't guarantee.
/// </summary>
internal struct SplitMix64(ulong state)
{
    private const ulong Gamma = 0x9E3779B97F4A7C15;

    private ulong _state = state;

    public ulong Next() => Mix(_state += Gamma);

    /// <summary>Returns a number from 0 to below the bound (at most 2^32).</summary>
    public int Below(int bound) => (int)(((Next() >> 32) * (ulong)bound) >> 32);

    /// <summary>The finaliser: a bijection whose result looks random.</summary>
    public static ulong Mix(ulong value)
    {
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
        return value ^ (value >> 31);
    }
}
