namespace HibpIngest.Passwords.Serving;

public interface IPasswordRanges : IDisposable
{
    /// <summary>Follows what is served until cancelled.</summary>
    Task RunAsync(CancellationToken cancellationToken);

    /// <summary>Checks at once whether another release is served.</summary>
    Task RefreshAsync(CancellationToken cancellationToken);

    /// <summary>Returns a range of the served release; its content is from that release only.</summary>
    /// <returns>Null if the mode is not served.</returns>
    /// <exception cref="HibpException">The range can't be read.</exception>
    ValueTask<RangeContent?> FindAsync(HashMode mode, int prefix, CancellationToken cancellationToken);

    /// <summary>Returns the ranges that have changed since a time.</summary>
    /// <returns>Null if the mode is not served.</returns>
    /// <exception cref="HibpException">The changes can't be read.</exception>
    ValueTask<ChangedRanges?> FindChangesAsync(HashMode mode, DateTimeOffset since, CancellationToken cancellationToken);
}

/// <summary>The changed ranges, for clients that keep copies of ranges.</summary>
/// <param name="Next">The time to pass as <c>since</c> next: later changes will be included, and some of those listed here may be
/// repeated.</param>
/// <param name="Prefixes">The changed ranges in order. Null: any may have changed, because another release is served since, or too many
/// have.</param>
public sealed record ChangedRanges(string Release, DateTimeOffset Next, IReadOnlyList<int>? Prefixes)
{
    /// <summary>The maximum number of prefixes, about 900 KB; a client that has missed more downloads all ranges.</summary>
    public const int Most = 100_000;

    /// <summary>How late a change may become visible.</summary>
    public static readonly TimeSpan Margin = TimeSpan.FromMinutes(5);
}
