namespace HibpIngest.Passwords.Releases;

/// <summary>Completes the writing of a mode into a back end.</summary>
internal static class WrittenPart
{
    /// <summary>Writes the index or list of ranges, and reads everything back in the same way as readers.</summary>
    /// <exception cref="StoreMismatchException">The rows read differ from those written.</exception>
    public static async Task<ReleasePart> CompleteAsync(
        PasswordStores stores, IRangeTarget target, ReleaseKey release, HashMode mode, GroupRecord[] groups, string? source,
        StepProgress progress, TimeProvider time, CancellationToken cancellationToken)
    {
        var etag = await target.CompleteAsync(groups, cancellationToken);
        var total = groups.Aggregate(new RowSum(), (sum, group) => sum + group.Total);
        var part = new ReleasePart(target.Backend, mode, total.Rows, total.Text, etag, time.GetUtcNow()) { Source = source };
        var written = await ReleaseReader.OpenAsync(stores, release, part, cancellationToken);
        await foreach (var (group, sum) in ReleaseSums.ReadAsync(written, mode, cancellationToken))
        {
            if (sum != groups[group].Total)
            {
                throw new StoreMismatchException($"release {release.Name}, read back from {target.Backend.Name()}, is not what was "
                    + $"written: {sum.Rows} hashes in ranges {group:X2}000 to {group:X2}FFF, and {groups[group].Rows} were expected; it is "
                    + "not served");
            }
            progress.Add(ImportStepKind.Verify, sum.Rows);
        }
        return part;
    }
}
