namespace HibpIngest.Passwords;

/// <summary>
/// Tells caches in front of the API which ranges were added to, of the release that is served: each change once, and again where it
/// can't be said whether they were told.
/// </summary>
/// <param name="site">Where people reach the API (HIBP_WEB_URL), without a slash at the end.</param>
public sealed class PurgeChanges(PasswordStores stores, PurgeHook hook, string site)
{
    // Told before it is noted that they were: what is told twice where that is lost.
    private const int RecordsAtOnce = 3_000;

    /// <summary>Tells what has come since it did so last.</summary>
    /// <exception cref="Errors.StoreUnavailableException">It can't be told now.</exception>
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
                return; // somebody else does the same
            place = next;
        }
    }

    /// <summary>As clients ask: some say the mode in any case.</summary>
    private IEnumerable<string> AddressesOf(HashMode mode, int prefix)
    {
        var address = $"{site}/range/{HashModes.PrefixText(prefix)}";
        if (mode == HashMode.Sha1)
            yield return address;
        yield return $"{address}?mode={mode.Name()}";
    }
}
