namespace HibpIngest.Passwords.Appends;

/// <summary>Reports what was added to releases and what is still to be added, for operators.</summary>
public sealed class AppendReport(PasswordStores stores, IPasswordAppends appends, TimeProvider time)
{
    public async Task<AppendedRanges> ReadAsync(ReleaseKey release, CancellationToken cancellationToken)
    {
        var changes = await ReleaseChanges.OpenAsync(stores.Blobs, release, time, cancellationToken);
        var hold = await stores.Blobs.ReadAsync(PasswordNames.Hold(release), null, cancellationToken);
        return new AppendedRanges(
            HashModes.All.Sum(mode => changes.Since(mode, DateTimeOffset.MinValue).Count()),
            hold is null ? null : JsonSerializer.Deserialize(hold.Bytes.Span, AppendJson.Default.ReleaseHold)!.Release);
    }

    public async Task<(int Waiting, int Unconfirmed)> CountAsync(CancellationToken cancellationToken)
    {
        var states = await appends.ListAsync(cancellationToken).CountBy(one => one.State)
            .ToDictionaryAsync(cancellationToken: cancellationToken);
        return (states.GetValueOrDefault(AppendState.Confirmed), states.GetValueOrDefault(AppendState.Submitted));
    }
}

/// <param name="RepackedAs">The release that a repack is writing, during which additions wait. Null if no repack is running.</param>
public sealed record AppendedRanges(int Ranges, string? RepackedAs);
