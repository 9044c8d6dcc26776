namespace HibpIngest.Pipeline.Callbacks;

/// <summary>Finds the prefixes of a slice that clients watch, and writes each client's list of calls, encrypted.</summary>
public sealed class FindCalls(
    JournaledRows rows, WatchedPrefixes watched, ICallbackBlobs blobs, InstallationKeys keys, IReadLayout layout, IStoreTables tables,
    IOptOuts optOuts)
{
    /// <summary>Returns the number of calls of each client that has any.</summary>
    public async Task<Dictionary<int, int>> RunAsync(
        CallRun run, IReadOnlyList<CallbackClient> called, CancellationToken cancellationToken)
    {
        var (work, slice) = (run.Slice, run.Slice.Slice);
        var calls = new Dictionary<int, int>();
        using var accounts = HashedAccounts.Rent(slice.Count);
        run.IsReading = true;
        await rows.ReadAsync(slice, work.Mark, work.Purged, accounts.Accounts, cancellationToken);
        run.IsReading = false;
        accounts.Hash();
        var skipped = work.CalledMarks.Count == 0 && !await optOuts.ListOptOutsAsync(cancellationToken).AnyAsync(cancellationToken)
            ? null : new SkippedHashes(
            work.CalledMarks, (await layout.GetReadLayoutAsync(cancellationToken) ?? StoreLayout.First).Facts, tables);
        // One bitmap at a time: all clients' bitmaps, in each concurrent slice, would exceed the memory of the process.
        foreach (var client in called)
        {
            if (await watched.GetAsync(client.Number, cancellationToken) is not { } bitmap)
                continue;
            if (skipped is not null)
                await skipped.LookUpAsync(accounts, bitmap, cancellationToken);
            var key = new CallbackKey(client.Number, slice.Load, slice.Number);
            if (await WriteAsync(key, accounts, bitmap, skipped, cancellationToken) is > 0 and var count)
                calls[client.Number] = count;
        }
        return calls;
    }

    /// <summary>Writes a client's call list, unless an earlier attempt did: its calls may have been made already.</summary>
    private async Task<int> WriteAsync(
        CallbackKey delivery, HashedAccounts accounts, PrefixBitmap bitmap, SkippedHashes? skipped, CancellationToken cancellationToken)
    {
        var (calls, content) = Seal(delivery, accounts, bitmap, skipped);
        if (calls == 0 || await blobs.WriteAsync(delivery, content, replaces: false, cancellationToken))
            return calls;
        if (await blobs.ReadAsync(delivery, cancellationToken) is { } there && CallList.Open(keys.Secret!, delivery, there) is { } list)
            return list.Count;
        await blobs.WriteAsync(delivery, content, replaces: true, cancellationToken);
        return calls;
    }

    private (int Calls, byte[] Content) Seal(
        CallbackKey delivery, HashedAccounts accounts, PrefixBitmap bitmap, SkippedHashes? skipped)
    {
        var found = accounts.Find(bitmap, skipped is null ? null : hash => !skipped.Contains(hash));
        if (found.Length == 0)
            return (0, []);
        if (keys.Secret is null)
        {
            throw new NotPossibleException("callbacks are encrypted under HIBP_SECRET_KEY, which is not set: set the key that the clients "
                + "were added with (hibp clients add) for every host");
        }
        return (CallList.CountOf(found), CallList.Seal(keys.Secret, delivery, found));
    }
}
