namespace HibpIngest.Passwords.Replicas;

/// <summary>
/// The releases of an installation with replicas in further accounts, which are switched before the primary. A replica that is unavailable
/// doesn't fail the command: running it again completes the switch.
/// </summary>
/// <param name="primary">The releases of the installation's own account, which is authoritative.</param>
public sealed class ReplicatedReleases(PasswordReleases primary, IReadOnlyList<PasswordReplica> replicas)
{
    /// <summary>Serves a release from a back end in every storage account that has the whole release.</summary>
    /// <param name="release">The release; null for the one that the primary serves.</param>
    /// <exception cref="NotPossibleException">There is no such release, or it is not in that back end; nothing is switched.</exception>
    public async Task<(ServedRelease Served, IReadOnlyList<ReplicaOutcome> Replicas)> SwitchAsync(
        PasswordBackend backend, string? release, CancellationToken cancellationToken)
    {
        var served = await primary.ResolveAsync(backend, release, cancellationToken);
        var found = (await primary.FindAsync(served.Release, cancellationToken))!;
        var outcomes = await EachAsync(async (replica, token) =>
        {
            if (!Holds(await replica.Releases.FindAsync(served.Release, token), found, found.PartsOf(backend)))
                return ReplicaResult.Lacking;
            await replica.Releases.SwitchAsync(served.Backend, served.Release, token);
            return ReplicaResult.Done;
        }, cancellationToken);
        return (await primary.SwitchAsync(served.Backend, served.Release, cancellationToken), outcomes);
    }

    /// <summary>Serves an imported release in the same way, unless it has too few rows of a mode that is served.</summary>
    public async Task<(IReadOnlyList<ReleaseShortfall> Shortfalls, IReadOnlyList<ReplicaOutcome> Replicas)> SwitchImportedAsync(
        PasswordBackend backend, string release, CancellationToken cancellationToken)
    {
        var shortfalls = await primary.ListShortfallsAsync(new ServedRelease(backend, release), cancellationToken);
        return shortfalls.Count > 0 ? (shortfalls, []) : ([], (await SwitchAsync(backend, release, cancellationToken)).Replicas);
    }

    /// <summary>Serves, in the same way, what the primary served before.</summary>
    /// <exception cref="NotPossibleException">Nothing was served before, or that release was deleted.</exception>
    public async Task<(ServedRelease Served, IReadOnlyList<ReplicaOutcome> Replicas)> SwitchBackAsync(CancellationToken cancellationToken)
    {
        var before = await primary.GetBeforeAsync(cancellationToken);
        return await SwitchAsync(before.Backend, before.Release, cancellationToken);
    }

    /// <summary>Deletes a release in every account, the primary last.</summary>
    /// <exception cref="NotPossibleException">An account serves it, or has served it last from a back end; nothing is deleted.</exception>
    public async Task<IReadOnlyList<ReplicaOutcome>> DeleteAsync(string release, CancellationToken cancellationToken)
    {
        await primary.RequireUnservedAsync(release, cancellationToken);
        var serving = await EachAsync(
            async (replica, token) => await replica.Releases.IsServedAsync(release, token) ? ReplicaResult.Serving : ReplicaResult.Done,
            cancellationToken);
        if (serving.FirstOrDefault(one => one.Result == ReplicaResult.Serving) is { } replica)
        {
            throw new NotPossibleException($"release {release} can't be deleted: replica {replica.Replica} still serves it, or served it "
                + "last from a back end; copy another release there with 'hibp passwords replicate', and switch to it again");
        }
        var outcomes = await EachAsync(async (one, token) =>
        {
            await one.Releases.DeleteAsync(release, token);
            return ReplicaResult.Done;
        }, cancellationToken);
        await primary.DeleteAsync(release, cancellationToken);
        return outcomes;
    }

    public async Task<IReadOnlyList<ReplicaState>> ListAsync(CancellationToken cancellationToken) =>
        await Task.WhenAll(replicas.Select(async replica =>
        {
            try
            {
                return new ReplicaState(
                    replica.Name, await replica.Releases.GetCurrentAsync(cancellationToken),
                    await replica.Releases.ListAsync(cancellationToken), null);
            }
            catch (HibpException e)
            {
                return new ReplicaState(replica.Name, null, [], e.Message);
            }
        }));

    /// <summary>Returns whether a replica's release is a copy of the primary's, and not another release with that name.</summary>
    internal static bool IsCopy(PasswordRelease copy, PasswordRelease release) => copy.CopyOf == release.Id
        && copy.Parts.All(one =>
            !release.Parts.Any(part => (part.Backend, part.Mode) == (one.Backend, one.Mode)) || ContainsPart(release, one));

    internal static bool Holds(PasswordRelease? copy, PasswordRelease release, IEnumerable<ReleasePart> parts) =>
        copy is not null && copy.CopyOf == release.Id && parts.All(part => ContainsPart(copy, part));

    private static bool ContainsPart(PasswordRelease release, ReleasePart part) => release.Parts.Any(
        one => (one.Backend, one.Mode, one.Rows, one.Sum) == (part.Backend, part.Mode, part.Rows, part.Sum));

    private async Task<IReadOnlyList<ReplicaOutcome>> EachAsync(
        Func<PasswordReplica, CancellationToken, Task<ReplicaResult>> work, CancellationToken cancellationToken) =>
        await Task.WhenAll(replicas.Select(async replica =>
        {
            try
            {
                return new ReplicaOutcome(replica.Name, await work(replica, cancellationToken));
            }
            catch (HibpException e)
            {
                return new ReplicaOutcome(replica.Name, ReplicaResult.Failed, e.Message);
            }
        }));
}

/// <param name="Current">The release it serves; null if it serves none or can't be read.</param>
/// <param name="Reason">Reason why it can't be read; null if it can.</param>
public sealed record ReplicaState(string Replica, CurrentRelease? Current, IReadOnlyList<PasswordRelease> Releases, string? Reason);

public sealed record ReplicaOutcome(string Replica, ReplicaResult Result, string? Reason = null);

public enum ReplicaResult
{
    Done = 0,

    /// <summary>The replica lacks at least a part of the release, and keeps serving what it serves.</summary>
    Lacking = 1,

    /// <summary>The replica can't be reached, or its store has an error; running the same command again resumes.</summary>
    Failed = 2,

    /// <summary>The replica serves the release, or served it last from a back end, so that it can't be deleted.</summary>
    Serving = 3,
}

/// <param name="Name">For display: account and host, without secrets.</param>
/// <param name="Releases">The account's releases; a switch there purges no cache.</param>
public sealed record PasswordReplica(string Name, PasswordStores Stores, PasswordReleases Releases);
