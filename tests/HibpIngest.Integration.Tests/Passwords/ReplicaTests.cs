using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;

namespace HibpIngest.Integration.Tests.Passwords;

public sealed class ReplicaTests(ITestOutputHelper output)
{
    private static readonly string[] Lines = Make(41);

    [Theory]
    [InlineData(PasswordBackend.Pack, false)]
    [InlineData(PasswordBackend.Pack, true)]
    [InlineData(PasswordBackend.Blob, false)]
    public async Task Copy_interrupted_at_any_call_resumes_and_is_listed_only_at_its_end(
        PasswordBackend backend, bool isCarriedOut)
    {
        using var rig = await PasswordRig.StartAsync();
        await rig.ImportAsync(Lines, HashMode.Sha1, "one", [backend]);
        var draw = new CallDraw(oneOf: 5, output.WriteLine);
        var calls = 0;
        while (calls == 0)
        {
            var call = draw.Next();
            using var other = await PasswordRig.StartAsync();
            var watched = new FaultyBlobs(other.Stores.Blobs) { FailsFrom = call, LosesOnlyFirstResponse = isCarriedOut };
            var stores = other.Stores with { Blobs = watched.Port };
            if (await FaultyBlobs.IsCompletedAsync(
                () => rig.CopyAsync(new PasswordReplica("watched", stores, PasswordRig.ReleasesOf(stores)))))
                calls = watched.Calls;
            else
                Assert.True((await other.Releases.ListAsync(None)).Count == 0 || isCarriedOut, $"call {call}");
            await rig.CopyAsync(other.Replica);
            Assert.Equal(Lines.Length, Assert.Single((await other.Releases.FindAsync("one", None))!.Parts).Rows);
            await other.Stores.AssertReleaseIsAsync("one", Lines);
            Assert.Equal(0, await rig.CopyAsync(other.Replica));
        }
        output.WriteLine($"{calls} calls");
        Assert.InRange(calls, 10, 1_000);
    }

    [Fact]
    public async Task Copy_skips_identical_blobs_and_replaces_different_ones()
    {
        using var rig = await PasswordRig.StartAsync();
        using var other = await PasswordRig.StartAsync();
        foreach (var mode in HashModes.All)
            await rig.ImportAsync(Lines.Select(line => mode == HashMode.Sha1 ? line : line[8..]), mode, "one", PasswordRig.Everywhere);
        Assert.Equal(6 * Lines.Length, await rig.CopyAsync(other.Replica));
        var before = await VersionsAsync(other);
        var (listed, etag) = await ReleaseReader.ReadAsync(other.Stores.Blobs, "one", None);
        await ReleaseReader.WriteAsync(other.Stores.Blobs, listed! with { Parts = [] }, etag, None);

        // The same length, with other content.
        var damaged = PasswordNames.Pack(listed.Key, HashMode.Sha1, 0xFF);
        var bytes = (await other.Stores.Blobs.ReadAsync(damaged, null, None))!.Bytes.ToArray();
        bytes[^9] ^= 1;
        await other.Stores.Blobs.WriteAsync(damaged, PasswordContent.Binary(bytes), IPasswordBlobs.AnyVersion, None);
        await rig.CopyAsync(other.Replica);
        var after = await VersionsAsync(other);
        Assert.Equal(before.Keys.Order(), after.Keys.Order());
        // Index, presence list and release document are written each time.
        Assert.Equal(
            [damaged],
            after.Where(blob => before[blob.Key] != blob.Value).Select(blob => blob.Key)
                .Where(name => !name.EndsWith("/index", StringComparison.Ordinal) && !name.EndsWith("/present", StringComparison.Ordinal)
                    && name != PasswordNames.Release("one")));
        foreach (var backend in PasswordRig.Everywhere)
        {
            await other.Releases.SwitchAsync(backend, "one", None);
            await rig.Releases.SwitchAsync(backend, "one", None);
            using var ranges = other.Stores.OpenRanges();
            using var expected = rig.Stores.OpenRanges();
            Assert.Equal(await expected.ReadTextAsync(HashMode.Sha1, 0x00000), await ranges.ReadTextAsync(HashMode.Sha1, 0x00000));
        }
    }

    [Fact]
    public async Task Copy_damaged_in_transit_is_detected_and_not_listed()
    {
        using var rig = await PasswordRig.StartAsync();
        using var other = await PasswordRig.StartAsync();
        await rig.ImportAsync(Lines, HashMode.Sha1, "one", [PasswordBackend.Blob]);
        var name = $"/blob/sha1/{Lines[0][..5]}";
        var stores = other.Stores with
        {
            Blobs = new FaultyBlobs(other.Stores.Blobs)
            {
                OnWrite = (blob, content) => blob.EndsWith(name, StringComparison.Ordinal)
                    ? ServedPasswords.WithoutLastRow(content.Bytes) : content,
            }.Port,
        };
        var error = await Assert.ThrowsAsync<StoreMismatchException>(
            () => rig.CopyAsync(new PasswordReplica("second", stores, PasswordRig.ReleasesOf(stores))));
        Assert.Contains("second", error.Message, StringComparison.Ordinal);
        Assert.Contains($"expected {Lines.Length} sha1 hashes with checksum ", error.Message, StringComparison.Ordinal);
        Assert.Contains($"found {Lines.Length - 1} with ", error.Message, StringComparison.Ordinal);
        Assert.Empty(await other.Releases.ListAsync(None));
        Assert.Equal(ReplicaResult.Lacking, await SwitchAsync(rig, other, PasswordBackend.Blob, "one"));
        Assert.Null(await other.Releases.GetCurrentAsync(None));

        await rig.CopyAsync(other.Replica);
        await other.Stores.AssertReleaseIsAsync("one", Lines);
    }

    [Fact]
    public async Task Replica_is_switched_only_when_complete_and_prevents_deletion_of_its_served_release()
    {
        using var rig = await PasswordRig.StartAsync();
        using var other = await PasswordRig.StartAsync();
        await rig.ImportAsync(Lines, HashMode.Sha1, "one", [PasswordBackend.Pack]);
        await rig.CopyAsync(other.Replica);
        Assert.Equal(ReplicaResult.Done, await SwitchAsync(rig, other, PasswordBackend.Pack, "one"));

        // A mode added later counts as a missing part.
        await rig.ImportAsync(Lines.Select(line => line[8..]), HashMode.Ntlm, "one", [PasswordBackend.Pack]);
        await rig.ImportAsync(Make(42), HashMode.Sha1, "two", [PasswordBackend.Pack]);
        Assert.Equal(ReplicaResult.Lacking, await SwitchAsync(rig, other, PasswordBackend.Pack, "one"));
        Assert.Equal(ReplicaResult.Lacking, await SwitchAsync(rig, other, PasswordBackend.Pack, "two"));
        Assert.Equal(("two", "one"), (await ServedAsync(rig), await ServedAsync(other)));
        var everywhere = new ReplicatedReleases(rig.Releases, [other.Replica]);
        var error = await Assert.ThrowsAsync<NotPossibleException>(() => everywhere.DeleteAsync("one", None));
        Assert.Contains("replica", error.Message, StringComparison.Ordinal);
        await rig.Stores.AssertReleaseIsAsync("one", Lines);

        await rig.CopyAsync(other.Replica, "two");
        Assert.Equal(ReplicaResult.Done, await SwitchAsync(rig, other, PasswordBackend.Pack, null));
        await rig.CopyAsync(other.Replica);
        Assert.Equal(ReplicaResult.Done, Assert.Single((await everywhere.SwitchBackAsync(None)).Replicas).Result);
        Assert.Equal(("one", "one"), (await ServedAsync(rig), await ServedAsync(other)));
        Assert.Equal(ReplicaResult.Done, Assert.Single((await everywhere.SwitchBackAsync(None)).Replicas).Result);
        await everywhere.DeleteAsync("one", None);
        foreach (var one in new[] { rig, other })
            Assert.Equal("two", Assert.Single(await one.Releases.ListAsync(None)).Name);
    }

    [Fact]
    public async Task Unavailable_replica_does_not_block_a_switch_and_repeating_the_switch_completes_it()
    {
        using var rig = await PasswordRig.StartAsync();
        using var up = await PasswordRig.StartAsync();
        await rig.ImportAsync(Lines, HashMode.Sha1, "one", [PasswordBackend.Pack]);
        using var down = await PasswordRig.StartAsync();
        var isDown = false;
        var stores = down.Stores with { Blobs = new FaultyBlobs(down.Stores.Blobs) { IsDown = () => isDown }.Port };
        var everywhere = new ReplicatedReleases(
            rig.Releases, [new PasswordReplica("down", stores, PasswordRig.ReleasesOf(stores)), up.Replica with { Name = "up" }]);
        foreach (var one in new[] { down, up })
            await rig.CopyAsync(one.Replica);
        isDown = true;

        var (served, replicas) = await everywhere.SwitchAsync(PasswordBackend.Pack, "one", None);
        Assert.Equal([ReplicaResult.Failed, ReplicaResult.Done], replicas.Select(one => one.Result));
        Assert.NotNull(replicas[0].Reason);
        Assert.Equal(("one", "one", "one"), (served.Release, await ServedAsync(rig), await ServedAsync(up)));
        var states = await everywhere.ListAsync(None);
        Assert.Equal(new[] { null, "one" }, states.Select(state => state.Current?.Served.Release));
        Assert.NotNull(states[0].Reason);

        isDown = false;
        (_, replicas) = await everywhere.SwitchAsync(PasswordBackend.Pack, "one", None);
        Assert.All(replicas, one => Assert.Equal(ReplicaResult.Done, one.Result));
        Assert.Equal("one", await ServedAsync(down));
    }

    private static async Task<ReplicaResult> SwitchAsync(PasswordRig rig, PasswordRig other, PasswordBackend backend, string? release) =>
        Assert.Single((await new ReplicatedReleases(rig.Releases, [other.Replica]).SwitchAsync(backend, release, None)).Replicas).Result;

    private static async Task<string?> ServedAsync(PasswordRig rig) => (await rig.Releases.GetCurrentAsync(None))?.Served.Release;

    private static async Task<Dictionary<string, string>> VersionsAsync(PasswordRig rig)
    {
        var versions = new Dictionary<string, string>();
        await foreach (var name in rig.Stores.Blobs.ListAsync("releases/", None))
            versions[name] = (await rig.Stores.Blobs.FindAsync(name, None))!.ETag;
        return versions;
    }

    private static string[] Make(int seed) => AppendRig.Lines(new Random(seed), 0x00000, 0x0FFFF, 0x10000, 0xFFFFF);
}
