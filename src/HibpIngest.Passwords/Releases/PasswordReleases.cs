using System.Text.Json;
using HibpIngest.Passwords.Appends;

namespace HibpIngest.Passwords.Releases;

/// <summary>The releases of a store, and which one is served.</summary>
/// <param name="purge">Purges caches after a switch.</param>
public sealed class PasswordReleases(PasswordStores stores, PurgeHook purge, TimeProvider time)
{
    /// <summary>Returns what is served; null: nothing was switched to yet.</summary>
    public async Task<CurrentRelease?> GetCurrentAsync(CancellationToken cancellationToken) =>
        (await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken)).Current;

    public Task<PasswordRelease?> FindAsync(string release, CancellationToken cancellationToken) =>
        ReleaseReader.FindAsync(stores.Blobs, release, cancellationToken);

    /// <exception cref="NotPossibleException">There is no release of that name.</exception>
    internal async Task<PasswordRelease> GetAsync(string release, CancellationToken cancellationToken) =>
        await FindAsync(release, cancellationToken) ?? throw new NotPossibleException(
            $"there is no release {release}: 'hibp passwords status' lists them");

    /// <summary>Returns the given name, or the served release's.</summary>
    /// <exception cref="NotPossibleException">No name is given, and nothing is served.</exception>
    internal static string NameOf(string? release, CurrentRelease? current) =>
        release ?? current?.Served.Release ?? throw new NotPossibleException(
            "no passwords are served yet: name a release by --release; 'hibp passwords status' lists them");

    /// <summary>Lists all releases that have a complete part, by name.</summary>
    public async Task<IReadOnlyList<PasswordRelease>> ListAsync(CancellationToken cancellationToken)
    {
        var releases = new List<PasswordRelease>();
        try
        {
            await foreach (var name in stores.Blobs.ListFoldersAsync(PasswordNames.AllReleases, cancellationToken))
            {
                if (await FindAsync(name, cancellationToken) is { } release)
                    releases.Add(release);
            }
        }
        catch (StoreMissingException)
        {
            // Nothing was ever imported.
        }
        return releases;
    }

    /// <summary>Serves a release from a back end and purges caches; every server follows within seconds.</summary>
    /// <param name="release">The release; null: the served one.</param>
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

    /// <summary>Compares a release that could be served with the served one.</summary>
    /// <returns>The modes that would lose rows (<see cref="ReleaseShortfall.List"/>).</returns>
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
        var (there, etag) = await ReleaseReader.ReadAsync(stores.Blobs, release, cancellationToken);
        while (there is { Deleted: false })
        {
            var deleted = there with { Parts = [], Deleted = true };
            if (await ReleaseReader.WriteAsync(stores.Blobs, deleted, etag, cancellationToken) is { } written)
                (there, etag) = (deleted, written);
            else
                (there, etag) = await ReleaseReader.ReadAsync(stores.Blobs, release, cancellationToken);
        }
        await DeleteFolderAsync(PasswordNames.Imports(release), cancellationToken);
        await SweepAsync(release, there?.Key ?? new ReleaseKey(release, null), cancellationToken);
        if (etag is not null)
            await stores.Blobs.DeleteAsync(PasswordNames.Release(release), etag, cancellationToken);
    }

    /// <summary>
    /// Returns the release of a name to write parts into: the existing one, or a new one without parts. Leftovers of an earlier release of
    /// that name are deleted first.
    /// </summary>
    /// <param name="copyOf">As in <see cref="PasswordRelease.CopyOf"/>.</param>
    internal async Task<ReleaseKey> BeginAsync(string name, CancellationToken cancellationToken, string? copyOf = null)
    {
        while (true)
        {
            var (there, etag) = await ReleaseReader.ReadAsync(stores.Blobs, name, cancellationToken);
            if (there is { Deleted: false })
                return there.Key;
            await SweepAsync(name, there?.Key, cancellationToken);
            var key = ReleaseKey.New(name);
            var begun = new PasswordRelease
            {
                Version = PasswordRelease.VersionWithId,
                Name = name,
                Id = key.Id,
                CopyOf = copyOf,
                CreatedAt = time.GetUtcNow(),
                Parts = [],
            };
            if (await ReleaseReader.WriteAsync(stores.Blobs, begun, etag, cancellationToken) is not null)
                return key;
        }
    }

    /// <summary>Returns whether this very release exists or is being written, and is not deleted.</summary>
    internal async Task<bool> IsThereAsync(ReleaseKey release, CancellationToken cancellationToken) =>
        (await ReleaseReader.ReadAsync(stores.Blobs, release.Name, cancellationToken)).Release is { Deleted: false } there
        && there.Key == release;

    /// <summary>Returns whether anything was added to it since its import.</summary>
    internal async Task<bool> HasChangesAsync(ReleaseKey release, CancellationToken cancellationToken) =>
        await stores.Blobs.FindAsync(PasswordNames.Changes(release, 1), cancellationToken) is not null;

    /// <summary>Returns whether a mode that joins it would lack hashes that were appended before.</summary>
    internal async Task<bool> IsAppendedToAsync(PasswordRelease release, CancellationToken cancellationToken) =>
        release.Appended || await HasChangesAsync(release.Key, cancellationToken);

    /// <exception cref="NotPossibleException">One of the modes would join the release, and lack what was appended to it before.</exception>
    internal async Task RequireCompleteAsync(
        PasswordRelease? release, IEnumerable<HashMode> modes, CancellationToken cancellationToken)
    {
        if (release is not null && modes.Any(mode => release.BestOf(mode) is null)
            && await IsAppendedToAsync(release, cancellationToken))
        {
            throw new NotPossibleException($"hashes were appended to release {release.Name} since it was imported, and a mode that joins "
                + "it now would be without them: name another release");
        }
    }

    internal async Task<ServedRelease> ResolveAsync(PasswordBackend backend, string? release, CancellationToken cancellationToken) =>
        await ResolveAsync(await GetCurrentAsync(cancellationToken), backend, release, cancellationToken);

    internal async Task<ServedRelease> GetBeforeAsync(CancellationToken cancellationToken) =>
        (await GetCurrentAsync(cancellationToken))?.Before
        ?? throw new NotPossibleException("there is nothing to go back to: no other release was served before this one");

    /// <summary>Returns whether the release is served, or was the last one served from a back end.</summary>
    internal async Task<bool> IsServedAsync(string release, CancellationToken cancellationToken) =>
        await GetCurrentAsync(cancellationToken) is { } current
        && current.ByBackend.Append(current.Served).Any(one => one.Release == release);

    /// <exception cref="NotPossibleException">The release is served, or was the last one served from a back end.</exception>
    internal async Task RequireUnservedAsync(string release, CancellationToken cancellationToken)
    {
        if (await IsServedAsync(release, cancellationToken))
        {
            throw new NotPossibleException(
                $"release {release} is served, or was the last from its back end: switch to another one first, from each back end that it "
                + "is in");
        }
    }

    /// <summary>
    /// Lists a part that is complete. The check for appended hashes is protected by the document's ETag: an append marks the document
    /// before it leaves anything out (<see cref="AppendPasswords"/>).
    /// </summary>
    /// <param name="isCopy">Whether it is a copy: what was appended is copied with it.</param>
    /// <returns>False if the release was deleted, and nothing is listed.</returns>
    /// <exception cref="NotPossibleException">Its mode would lack what was appended before.</exception>
    internal async Task<bool> AddAsync(
        ReleaseKey release, ReleasePart part, CancellationToken cancellationToken, bool isCopy = false)
    {
        while (true)
        {
            var (there, etag) = await ReleaseReader.ReadAsync(stores.Blobs, release.Name, cancellationToken);
            if (there is not { Deleted: false } || there.Key != release)
                return false;
            if (!isCopy)
                await RequireCompleteAsync(there, [part.Mode], cancellationToken);
            var now = there with
            {
                Parts = [.. there.Parts.Where(one => (one.Backend, one.Mode) != (part.Backend, part.Mode)), part],
            };
            if (await ReleaseReader.WriteAsync(stores.Blobs, now, etag, cancellationToken) is not null)
                return true;
        }
    }

    /// <summary>Deletes everything that releases of that name have left, except for an existing one.</summary>
    /// <param name="deleted">The release whose tables are dropped too; null: none is known.</param>
    private async Task SweepAsync(string name, ReleaseKey? deleted, CancellationToken cancellationToken)
    {
        // Tables of releases without an id are not listed anywhere.
        foreach (var key in deleted is { } one ? new[] { one, new ReleaseKey(name, null) }.Distinct() : [])
        {
            foreach (var mode in HashModes.All)
                await stores.Tables.DropAsync(PasswordNames.Table(key, mode), cancellationToken);
        }
        var folders = new List<string>();
        await foreach (var folder in stores.Blobs.ListFoldersAsync(PasswordNames.Folder(name), cancellationToken))
            folders.Add(folder);
        foreach (var folder in folders)
        {
            // Another process may have begun a release of that name in the meantime. Its id was written before its first blob.
            if ((await ReleaseReader.ReadAsync(stores.Blobs, name, cancellationToken)).Release is { Deleted: false } there
                && (there.Id is null || there.Id == folder))
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
        CurrentRelease? current, PasswordBackend backend, string? release, CancellationToken cancellationToken) =>
        await CheckAsync(new ServedRelease(backend, NameOf(release, current)), cancellationToken);

    private async Task<ServedRelease> CheckAsync(ServedRelease served, CancellationToken cancellationToken)
    {
        var release = await GetAsync(served.Release, cancellationToken);
        if (!release.PartsOf(served.Backend).Any())
        {
            throw new NotPossibleException($"release {served.Release} is not in {served.Backend.Name()}: import it "
                + $"by --release {served.Release} --into {served.Backend.Name()} first");
        }
        return served;
    }

    private async Task<bool> WriteAsync(CurrentRelease current, string? etag, CancellationToken cancellationToken) =>
        await stores.Blobs.WriteAsync(
            PasswordNames.Current, PasswordContent.Json(JsonSerializer.SerializeToUtf8Bytes(current, PasswordJson.Default.CurrentRelease)),
            etag, cancellationToken) is not null;
}
