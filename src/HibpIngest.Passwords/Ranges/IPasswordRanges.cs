using HibpIngest.Errors;

namespace HibpIngest.Passwords;

public interface IPasswordRanges : IDisposable
{
    /// <summary>Follows what is served until cancelled.</summary>
    Task RunAsync(CancellationToken cancellationToken);

    /// <summary>Looks at once whether another release is served.</summary>
    Task RefreshAsync(CancellationToken cancellationToken);

    /// <summary>A range of the release that is served, all of it of that one; null: that mode is not served here.</summary>
    /// <exception cref="HibpException">It can't be read.</exception>
    ValueTask<RangeContent?> FindAsync(HashMode mode, int prefix, CancellationToken cancellationToken);

    /// <summary>The ranges that have changed since; null: that mode is not served here.</summary>
    /// <exception cref="HibpException">It can't be read.</exception>
    ValueTask<ChangedRanges?> FindChangesAsync(HashMode mode, DateTimeOffset since, CancellationToken cancellationToken);
}

/// <summary>What has changed, for who has copies of ranges.</summary>
/// <param name="Next">To be asked from, next time: what changes from now on is among it, and some of what is here may be again.</param>
/// <param name="Prefixes">Of the ranges, in order; null: any may have, as another release is served since, or very many have.</param>
public sealed record ChangedRanges(string Release, DateTimeOffset Next, IReadOnlyList<int>? Prefixes)
{
    /// <summary>Most that are named, in some 900 KB: whoever has missed so many asks for all.</summary>
    public const int Most = 100_000;

    /// <summary>How late a change may be seen.</summary>
    public static readonly TimeSpan Margin = TimeSpan.FromMinutes(5);
}
