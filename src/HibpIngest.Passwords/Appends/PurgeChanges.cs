namespace HibpIngest.Passwords.Appends;

/// <summary>
/// Purges the served release's changed ranges from caches in front of the API: once for each change, and again if the outcome of an earlier
/// attempt is unknown.
/// </summary>
/// <param name="site">The API's public address (HIBP_WEB_URL), without a trailing slash.</param>
public sealed class PurgeChanges(PasswordStores stores, PurgeHook hook, string site)
{
    // The caches are purged before the position is recorded, so at most this many changes are purged twice if recording fails.
    private const int RecordsAtOnce = 3_000;

    /// <summary>Purges what has changed since the last run.</summary>
    /// <exception cref="Errors.StoreUnavailableException">The caches can't be purged now.</exception>
    public async Task RunAsync(CancellationToken cancellationToken)
    {
        if (!hook.IsSet)
            return;
        var (current, _) = await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken);
        if (current is null
            || await ReleaseReader.FindAsync(stores.Blobs, current.Served.Release, cancellationToken) is not { Key: var release })
            return;
        var (log, name) = (new ChangeLog(stores.Blobs, release), PasswordNames.Purged(release));
        var (place, etag) = await ChangePlace.ReadAsync(stores.Blobs, name, cancellationToken);
        while (true)
        {
            var changed = new HashSet<(HashMode Mode, int Prefix)>();
            var next = await log.ReadAsync(
                place, change => changed.Add((change.Mode, change.Prefix)), cancellationToken, RecordsAtOnce);
            if (next.IsAt(place))
                return;
            await hook.PurgeAsync(changed.SelectMany(one => AddressesOf(one.Mode, one.Prefix)), cancellationToken);
            etag = await next.WriteAsync(stores.Blobs, name, etag, cancellationToken);
            if (etag is null)
                return; // another process is purging the same changes
            place = next;
        }
    }

    /// <summary>Returns a range's addresses as clients request them: some name the mode even if it is the default.</summary>
    private IEnumerable<string> AddressesOf(HashMode mode, int prefix)
    {
        var address = $"{site}/range/{HashModes.PrefixText(prefix)}";
        if (mode == HashMode.Sha1)
            yield return address;
        yield return $"{address}?mode={mode.Name()}";
    }
}
