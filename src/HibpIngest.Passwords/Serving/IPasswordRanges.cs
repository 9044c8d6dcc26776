namespace HibpIngest.Passwords.Serving;

public interface IPasswordRanges : IDisposable
{
    /// <summary>Follows what is served until cancelled.</summary>
    Task RunAsync(CancellationToken cancellationToken);

    /// <summary>Checks at once whether another release is served.</summary>
    Task RefreshAsync(CancellationToken cancellationToken);

    /// <returns>A range of the served release, from that release only; null if the mode is not served.</returns>
    /// <exception cref="HibpException">The range can't be read.</exception>
    ValueTask<RangeContent?> FindAsync(HashMode mode, int prefix, CancellationToken cancellationToken);

    /// <returns>The ranges that have changed since a time; null if the mode is not served.</returns>
    /// <exception cref="HibpException">The changes can't be read.</exception>
    ValueTask<ChangedRanges?> FindChangesAsync(HashMode mode, DateTimeOffset since, CancellationToken cancellationToken);
}

/// <param name="Next">The time to pass as <c>since</c> next; some changes may be repeated.</param>
/// <param name="Prefixes">
/// Prefixes of the changed ranges, ascending. Null if any may have changed, because another release is served, or too many have.
/// </param>
public sealed record ChangedRanges(string Release, DateTimeOffset Next, IReadOnlyList<int>? Prefixes)
{
    /// <summary>The maximum number of prefixes, about 900 KB; a client that has missed more downloads all ranges.</summary>
    public const int MaxPrefixes = 100_000;

    /// <summary>How late a change may become visible.</summary>
    public static readonly TimeSpan Margin = TimeSpan.FromMinutes(5);
}
