using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>The releases of a store: which there are, and which is served.</summary>
/// <param name="stores">Where they are.</param>
/// <param name="purge">Tells caches of a change.</param>
/// <param name="time">The clock.</param>
public sealed class PasswordReleases(PasswordStores stores, PurgeHook purge, TimeProvider time)
{
    /// <summary>What is served; null: nothing was switched to yet.</summary>
    public async Task<CurrentRelease?> GetCurrentAsync(CancellationToken cancellationToken) =>
        (await ReleaseReader.ReadCurrentAsync(stores.Blobs, cancellationToken)).Current;

    /// <summary>A release; null: there is none of that name.</summary>
    public async Task<PasswordRelease?> FindAsync(string release, CancellationToken cancellationToken) =>
        (await ReleaseReader.ReadAsync(stores.Blobs, release, cancellationToken)).Release;

    /// <summary>A release.</summary>
    /// <exception cref="NotPossibleException">There is none of that name.</exception>
    internal async Task<PasswordRelease> GetAsync(string release, CancellationToken cancellationToken) =>
        await FindAsync(release, cancellationToken) ?? throw new NotPossibleException(
            $"there is no release {release}: 'hibp passwords status' lists them");

    /// <summary>The release that is meant: the one that is named, or the one that is served.</summary>
    /// <exception cref="NotPossibleException">None is named, and none is served.</exception>
    internal static string NameOf(string? release, CurrentRelease? current) =>
        release ?? current?.Served.Release ?? throw new NotPossibleException(
            "no passwords are served yet: name a release by --release; 'hibp passwords status' lists them");

    /// <summary>All releases that hold something whole, by name.</summary>
    public async Task<IReadOnlyList<PasswordRelease>> ListAsync(CancellationToken cancellationToken)
    {
        var releases = new List<PasswordRelease>();
        try
        {
            await foreach (var name in stores.Blobs.ListFoldersAsync("releases/", cancellationToken))
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

    /// <summary>
    /// Serves a release from a back end, at once where nobody keeps answers, and sees to it that nobody does; every server follows
    /// within seconds.
    /// </summary>
    /// <param name="backend">The back end.</param>
    /// <param name="release">The release; null: the one that is served.</param>
    /// <param name="cancellationToken">Stops it.</param>
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

    /// <summary>Serves what was served before.</summary>
    /// <exception cref="NotPossibleException">Nothing was, or it is gone.</exception>
    public async Task<ServedRelease> SwitchBackAsync(CancellationToken cancellationToken)
    {
        var before = await GetBeforeAsync(cancellationToken);
        return await SwitchAsync(before.Backend, before.Release, cancellationToken);
    }

    /// <summary>Modes that are served now, and would not be any more.</summary>
    public async Task<IReadOnlyList<HashMode>> ListModesLostAsync(ServedRelease next, CancellationToken cancellationToken)
    {
        if ((await GetCurrentAsync(cancellationToken))?.Served is not { } served)
            return [];
        var now = await FindAsync(served.Release, cancellationToken);
        var then = await FindAsync(next.Release, cancellationToken);
        return [.. (now?.PartsOf(served.Backend) ?? []).Select(part => part.Mode)
            .Except((then?.PartsOf(next.Backend) ?? []).Select(part => part.Mode))];
    }

    /// <summary>Deletes a release with all that it holds.</summary>
    /// <exception cref="NotPossibleException">It is served, or was the last to be from one of the back ends.</exception>
    public async Task DeleteAsync(string release, CancellationToken cancellationToken)
    {
        await RequireUnservedAsync(release, cancellationToken);
        // What makes it count goes first.
        await stores.Blobs.DeleteAsync(PasswordNames.Release(release), cancellationToken);
        foreach (var mode in HashModes.All)
            await stores.Tables.DropAsync(PasswordNames.Table(release, mode), cancellationToken);
        foreach (var folder in new[] { PasswordNames.Imports(release), $"releases/{release}/" })
        {
            await foreach (var name in stores.Blobs.ListAsync(folder, cancellationToken))
                await stores.Blobs.DeleteAsync(name, cancellationToken);
        }
    }

    /// <summary>Whether anything was added to it since it was imported.</summary>
    internal async Task<bool> IsAppendedToAsync(string release, CancellationToken cancellationToken) =>
        await stores.Blobs.FindAsync(PasswordNames.Changes(release, 1), cancellationToken) is not null;

    /// <exception cref="NotPossibleException">One of the modes would join it, and lack what was appended to it before.</exception>
    internal async Task RequireToLackNothingAsync(
        PasswordRelease? release, IEnumerable<HashMode> modes, CancellationToken cancellationToken)
    {
        if (release is not null && modes.Any(mode => release.BestOf(mode) is null)
            && await IsAppendedToAsync(release.Name, cancellationToken))
        {
            throw new NotPossibleException($"hashes were appended to release {release.Name} since it was imported, and a mode that joins "
                + "it now would be without them: name another release");
        }
    }

    /// <summary>What switching would serve.</summary>
    internal async Task<ServedRelease> ResolveAsync(PasswordBackend backend, string? release, CancellationToken cancellationToken) =>
        await ResolveAsync(await GetCurrentAsync(cancellationToken), backend, release, cancellationToken);

    /// <summary>What was served before.</summary>
    internal async Task<ServedRelease> GetBeforeAsync(CancellationToken cancellationToken) =>
        (await GetCurrentAsync(cancellationToken))?.Before
        ?? throw new NotPossibleException("there is nothing to go back to: no other release was served before this one");

    /// <summary>Whether it is served, or was the last from one of the back ends.</summary>
    internal async Task<bool> IsServedAsync(string release, CancellationToken cancellationToken) =>
        await GetCurrentAsync(cancellationToken) is { } current
        && current.ByBackend.Append(current.Served).Any(one => one.Release == release);

    /// <exception cref="NotPossibleException">It is.</exception>
    internal async Task RequireUnservedAsync(string release, CancellationToken cancellationToken)
    {
        if (await IsServedAsync(release, cancellationToken))
        {
            throw new NotPossibleException(
                $"release {release} is served, or was the last from its back end: switch to another one first, from each back end that it "
                + "is in");
        }
    }

    /// <summary>Lists a part that is whole.</summary>
    internal async Task AddAsync(string release, ReleasePart part, CancellationToken cancellationToken)
    {
        while (true)
        {
            var (there, etag) = await ReleaseReader.ReadAsync(stores.Blobs, release, cancellationToken);
            var now = new PasswordRelease
            {
                Name = release,
                CreatedAt = there?.CreatedAt ?? part.CompletedAt,
                Parts = [.. (there?.Parts ?? []).Where(one => (one.Backend, one.Mode) != (part.Backend, part.Mode)), part],
            };
            var json = PasswordContent.Json(JsonSerializer.SerializeToUtf8Bytes(now, PasswordJson.Default.PasswordRelease));
            if (await stores.Blobs.WriteAsync(PasswordNames.Release(release), json, etag, cancellationToken) is not null)
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
