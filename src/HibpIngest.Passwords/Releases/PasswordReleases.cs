namespace HibpIngest.Passwords.Releases;

/// <summary>The releases of a store, and which one is served.</summary>
public sealed class PasswordReleases(PasswordStores stores, PurgeHook purge, TimeProvider time)
{
    /// <summary>Returns what is served; null if nothing was switched to yet.</summary>
    public async Task<CurrentRelease?> GetCurrentAsync(CancellationToken cancellationToken) =>
        (await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken)).Current;

    public Task<PasswordRelease?> FindAsync(string release, CancellationToken cancellationToken) =>
        ReleaseReader.FindAsync(stores.Blobs, release, cancellationToken);

    internal async Task<PasswordRelease> GetAsync(string release, CancellationToken cancellationToken) =>
        await FindAsync(release, cancellationToken) ?? throw new NotPossibleException(
            $"there is no release {release}: 'hibp passwords status' lists them");

    internal static string NameOf(string? release, CurrentRelease? current) =>
        release ?? current?.Served.Release ?? throw new NotPossibleException(
            "no passwords are served yet: name a release by --release; 'hibp passwords status' lists them");

    /// <summary>Lists all releases that have a complete part, by name.</summary>
    public async Task<IReadOnlyList<PasswordRelease>> ListAsync(CancellationToken cancellationToken)
    {
        var releases = new List<PasswordRelease>();
        var names = stores.Blobs.ListFoldersAsync(PasswordNames.AllReleases, cancellationToken);
        foreach (var name in await ReleaseReader.ListAsync(names, cancellationToken))
        {
            if (await FindAsync(name, cancellationToken) is { } release)
                releases.Add(release);
        }
        return releases;
    }

    /// <summary>Serves a release from a back end and purges caches; every server follows within seconds.</summary>
    /// <param name="release">The release; if null, the served one.</param>
    /// <exception cref="NotPossibleException">There is no such release, or it is not in that back end.</exception>
    public async Task<ServedRelease> SwitchAsync(PasswordBackend backend, string? release, CancellationToken cancellationToken)
    {
        ServedRelease served;
        while (true)
        {
            var (current, etag) = await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken);
            served = await ResolveAsync(current, backend, release, cancellationToken);
            if (await WriteAsync(CurrentRelease.After(current, served, time.GetUtcNow()), etag, cancellationToken))
                break;
        }
        await purge.PurgeEverythingAsync(cancellationToken);
        return served;
    }

    /// <summary>Lists the modes that would lose rows if another release were served.</summary>
    public async Task<IReadOnlyList<ReleaseShortfall>> ListShortfallsAsync(ServedRelease next, CancellationToken cancellationToken)
    {
        if ((await GetCurrentAsync(cancellationToken))?.Served is not { } served)
            return [];
        var now = await FindAsync(served.Release, cancellationToken);
        var then = await FindAsync(next.Release, cancellationToken);
        return ReleaseShortfall.List(now?.PartsOf(served.Backend) ?? [], then?.PartsOf(next.Backend) ?? []);
    }

    /// <summary>
    /// Deletes a release with everything it holds, including leftovers of an interrupted import or deletion of that name. If interrupted,
    /// it is finished by the next deletion, or before the name is used again: the document that records the deletion is deleted last.
    /// </summary>
    /// <exception cref="NotPossibleException">The release is served, or was the last one served from a back end.</exception>
    public async Task DeleteAsync(string release, CancellationToken cancellationToken)
    {
        await RequireUnservedAsync(release, cancellationToken);
        await ForgetBeforeAsync(release, cancellationToken);
        var (existing, etag) = await ReleaseReader.ReadAsync(stores.Blobs, release, cancellationToken);
        while (existing is { Deleted: false })
        {
            var deleted = existing with { Parts = [], Deleted = true };
            if (await ReleaseReader.WriteAsync(stores.Blobs, deleted, etag, cancellationToken) is { } written)
                (existing, etag) = (deleted, written);
            else
                (existing, etag) = await ReleaseReader.ReadAsync(stores.Blobs, release, cancellationToken);
        }
        await DeleteFolderAsync(PasswordNames.Imports(release), cancellationToken);
        await SweepAsync(release, existing?.Key ?? new ReleaseKey(release, null), cancellationToken);
        if (etag is not null)
            await stores.Blobs.DeleteAsync(PasswordNames.Release(release), etag, cancellationToken);
    }

    /// <summary>Returns the existing release of a name, or creates one without parts after deleting leftovers of an earlier one.</summary>
    internal async Task<ReleaseKey> BeginAsync(string name, CancellationToken cancellationToken, string? copyOf = null)
    {
        while (true)
        {
            var (existing, etag) = await ReleaseReader.ReadAsync(stores.Blobs, name, cancellationToken);
            if (existing is { Deleted: false })
                return existing.Key;
            await SweepAsync(name, existing?.Key, cancellationToken);
            var key = ReleaseKey.New(name);
            var created = new PasswordRelease
            {
                Version = PasswordRelease.VersionWithId,
                Name = name,
                Id = key.Id,
                CopyOf = copyOf,
                CreatedAt = time.GetUtcNow(),
                Parts = [],
            };
            if (await ReleaseReader.WriteAsync(stores.Blobs, created, etag, cancellationToken) is not null)
                return key;
        }
    }

    /// <summary>Returns whether this very release exists or is being written, and is not deleted.</summary>
    internal async Task<bool> ExistsAsync(ReleaseKey release, CancellationToken cancellationToken) =>
        (await ReleaseReader.ReadAsync(stores.Blobs, release.Name, cancellationToken)).Release is { Deleted: false } existing
        && existing.Key == release;

    internal async Task<bool> HasChangesAsync(ReleaseKey release, CancellationToken cancellationToken) =>
        await stores.Blobs.FindAsync(PasswordNames.Changes(release, 1), cancellationToken) is not null;

    internal async Task<bool> IsAppendedToAsync(PasswordRelease release, CancellationToken cancellationToken) =>
        release.Appended || await HasChangesAsync(release.Key, cancellationToken);

    internal async Task RequireCompleteAsync(PasswordRelease? release, IEnumerable<HashMode> modes, CancellationToken cancellationToken)
    {
        if (release is not null && modes.Any(mode => release.BestOf(mode) is null)
            && await IsAppendedToAsync(release, cancellationToken))
        {
            throw new NotPossibleException($"hashes were appended to release {release.Name} since it was imported, which a mode that joins "
                + "it now would lack: import into another release with --release");
        }
    }

    internal async Task<ServedRelease> ResolveAsync(PasswordBackend backend, string? release, CancellationToken cancellationToken) =>
        await ResolveAsync(await GetCurrentAsync(cancellationToken), backend, release, cancellationToken);

    internal async Task<ServedRelease> GetBeforeAsync(CancellationToken cancellationToken) =>
        (await GetCurrentAsync(cancellationToken))?.Before
        ?? throw new NotPossibleException("no release was served before this one; 'hibp passwords status' lists the releases");

    /// <summary>Returns whether the release is served, or was the last one served from a back end.</summary>
    internal async Task<bool> IsServedAsync(string release, CancellationToken cancellationToken) =>
        await GetCurrentAsync(cancellationToken) is { } current
        && current.ByBackend.Append(current.Served).Any(one => one.Release == release);

    internal async Task RequireUnservedAsync(string release, CancellationToken cancellationToken)
    {
        if (await IsServedAsync(release, cancellationToken))
        {
            throw new NotPossibleException(
                $"release {release} can't be deleted: it is served, or is the last one served from a back end. Serve another release from "
                + "each of its back ends first: hibp passwords switch BACKEND --release NAME");
        }
    }

    /// <summary>Lists a complete part. An append marks the document before it omits a mode, so the ETag protects the check.</summary>
    /// <returns>False if the release was deleted, and nothing is listed.</returns>
    internal async Task<bool> AddAsync(ReleaseKey release, ReleasePart part, CancellationToken cancellationToken, bool isCopy = false)
    {
        while (true)
        {
            var (existing, etag) = await ReleaseReader.ReadAsync(stores.Blobs, release.Name, cancellationToken);
            if (existing is not { Deleted: false } || existing.Key != release)
                return false;
            if (!isCopy)
                await RequireCompleteAsync(existing, [part.Mode], cancellationToken);
            var now = existing with
            {
                Parts = [.. existing.Parts.Where(one => (one.Backend, one.Mode) != (part.Backend, part.Mode)), part],
            };
            if (await ReleaseReader.WriteAsync(stores.Blobs, now, etag, cancellationToken) is not null)
                return true;
        }
    }

    /// <summary>Deletes everything that releases of that name have left, except for an existing one.</summary>
    private async Task SweepAsync(string name, ReleaseKey? deleted, CancellationToken cancellationToken)
    {
        // Tables of releases without an id are not listed anywhere.
        foreach (var key in deleted is { } one ? new[] { one, new ReleaseKey(name, null) }.Distinct() : [])
        {
            foreach (var mode in HashModes.All)
                await stores.Tables.DropAsync(PasswordNames.Table(key, mode), cancellationToken);
        }
        var folders = await stores.Blobs.ListFoldersAsync(PasswordNames.Folder(name), cancellationToken).ToListAsync(cancellationToken);
        foreach (var folder in folders)
        {
            // Another process may have created a release of that name since. Its id was written before its first blob.
            if ((await ReleaseReader.ReadAsync(stores.Blobs, name, cancellationToken)).Release is { Deleted: false } existing
                && (existing.Id is null || existing.Id == folder))
                continue;
            await DeleteFolderAsync($"{PasswordNames.Folder(name)}{folder}/", cancellationToken);
        }
        if (folders.Count > 0)
            await stores.Blobs.DeleteAsync(PasswordNames.Hold(new ReleaseKey(name, null)), cancellationToken);
    }

    private async Task DeleteFolderAsync(string folder, CancellationToken cancellationToken)
    {
        await foreach (var name in stores.Blobs.ListAsync(folder, cancellationToken))
            await stores.Blobs.DeleteAsync(name, cancellationToken);
    }

    /// <summary>Makes sure that switching back can't serve another release that is given the name later.</summary>
    private async Task ForgetBeforeAsync(string release, CancellationToken cancellationToken)
    {
        while (true)
        {
            var (current, etag) = await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken);
            if (current?.Before?.Release != release || await WriteAsync(current with { Before = null }, etag, cancellationToken))
                return;
        }
    }

    private async Task<ServedRelease> ResolveAsync(
        CurrentRelease? current, PasswordBackend backend, string? release, CancellationToken cancellationToken)
    {
        var served = new ServedRelease(backend, NameOf(release, current));
        if (!(await GetAsync(served.Release, cancellationToken)).PartsOf(backend).Any())
        {
            throw new NotPossibleException($"release {served.Release} is not in {backend.Name()}: import it "
                + $"by --release {served.Release} --into {backend.Name()} first");
        }
        return served;
    }

    private async Task<bool> WriteAsync(CurrentRelease current, string? etag, CancellationToken cancellationToken) =>
        await stores.Blobs.WriteAsync(
            PasswordNames.Current, current, PasswordJson.Default.CurrentRelease, etag, cancellationToken) is not null;
}

public sealed record PasswordStores(IPasswordBlobs Blobs, IPasswordTables Tables);
