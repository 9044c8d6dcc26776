using System.Text.Json;
using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>What was added to releases, and what waits to be: for people.</summary>
public sealed class AppendReport(PasswordStores stores, IPasswordAppends appends, TimeProvider time)
{
    public async Task<AppendedRanges> ReadAsync(ReleaseKey release, CancellationToken cancellationToken)
    {
        var changes = await ReleaseChanges.OpenAsync(stores.Blobs, release, time, cancellationToken);
        var hold = await stores.Blobs.ReadAsync(PasswordNames.Hold(release), null, cancellationToken);
        return new AppendedRanges(
            HashModes.All.Sum(mode => changes.Since(mode, DateTimeOffset.MinValue).Count()),
            hold is null ? null : JsonSerializer.Deserialize(hold.Bytes.Span, RepackJson.Default.ReleaseHold)!.Release);
    }

    /// <summary>Transactions that are confirmed, and not added; and those that nobody has confirmed yet.</summary>
    public async Task<(int Waiting, int Unconfirmed)> CountAsync(CancellationToken cancellationToken)
    {
        var (waiting, unconfirmed) = (0, 0);
        await foreach (var one in appends.ListAsync(cancellationToken))
        {
            waiting += one.State == AppendState.Confirmed ? 1 : 0;
            unconfirmed += one.State == AppendState.Sent ? 1 : 0;
        }
        return (waiting, unconfirmed);
    }
}

/// <param name="Ranges">Ranges that were added to, of all modes.</param>
/// <param name="RepackedAs">The release that is being made of it, while additions wait; null: they don't.</param>
public sealed record AppendedRanges(int Ranges, string? RepackedAs);
