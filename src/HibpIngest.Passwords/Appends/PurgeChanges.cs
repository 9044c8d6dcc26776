namespace HibpIngest.Passwords.Appends;

/// <summary>Purges the served release's changed ranges from caches in front of the API, at least once for each change.</summary>
/// <param name="site">The API's public address (HIBP_WEB_URL), without a trailing slash.</param>
public sealed class PurgeChanges(PasswordStores stores, PurgeHook hook, string site)
{
    // The caches are purged before the position is recorded, so at most this many changes are purged twice if recording fails.
    private const int RecordsAtOnce = 3_000;

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        if (!hook.IsSet)
            return;
        var (current, _) = await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken);
        if (current is null
            || await ReleaseReader.FindAsync(stores.Blobs, current.Served.Release, cancellationToken) is not { Key: var release })
            return;
        // False if another process is purging the same changes.
        await new ChangeLog(stores.Blobs, release).ProcessAsync(
            stores.Blobs, PasswordNames.Purged(release), RecordsAtOnce,
            changed => hook.PurgeAsync(changed.SelectMany(range => AddressesOf(range.Mode, range.Prefix)), cancellationToken),
            cancellationToken);
    }

    // Some clients name the mode even if it is the default.
    private IEnumerable<string> AddressesOf(HashMode mode, int prefix)
    {
        var address = $"{site}/range/{HashModes.PrefixText(prefix)}";
        if (mode == HashMode.Sha1)
            yield return address;
        yield return $"{address}?mode={mode.Name()}";
    }
}
