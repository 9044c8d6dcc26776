using HibpIngest.Passwords.Ranges;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>Tests a release that reuses an earlier one's name: nothing of the earlier one is read, served, repacked or copied.</summary>
public sealed class ReusedReleaseTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Worker_with_the_deleted_release_open_appends_to_the_new_one()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        var before = await AppendRig.StartAsync(rig, AppendRig.Lines(random, 0x00000, 0x10000));
        await before.SendAsync(random, [0x00000], rows: 3);
        var warm = before.NewHandler();
        await before.WorkAsync(warm);
        await SwitchToOtherAndDeleteOneAsync(rig, rig.Releases);

        // The worker's index is the earlier release's, which had nothing in the second range.
        var after = await AppendRig.StartAsync(rig, AppendRig.Lines(random, 0x00000, 0x00001));
        await after.SendAsync(random, [0x00001], rows: 10);
        await after.WorkAsync(warm);
        await after.AssertServedAsync();
    }

    [Theory]
    [InlineData("/changes/0001")]
    [InlineData("/overlay/sha1/00000")]
    [InlineData("/pack/sha1/00")]
    [InlineData("/release.json")]
    public async Task Interrupted_deletion_leaves_nothing_that_the_new_release_serves_or_repacks(string interruptedAt)
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        var before = await AppendRig.StartAsync(rig, AppendRig.Lines(random, 0x00000));
        await before.AppendAsync(random, [0x00000, 0x00002], rows: 10);
        var watched = new FaultyBlobs(rig.Stores.Blobs)
        {
            Before = FaultyBlobs.OnceAt("Delete", interruptedAt, () => throw new ProcessEndedException()),
        };
        await Assert.ThrowsAsync<ProcessEndedException>(
            () => SwitchToOtherAndDeleteOneAsync(rig, PasswordRig.ReleasesOf(rig.Stores with { Blobs = watched.Port })));

        var after = await AppendRig.StartAsync(rig, AppendRig.Lines(random, 0x00000, 0x00001));
        await after.AssertServedAsync();
        await after.AppendAsync(random, [0x00000, 0x00001], rows: 10);
        await after.AssertServedAsync();
        await rig.RepackAsync();
        await after.AssertServedAsync();
    }

    [Fact]
    public async Task Deletion_and_import_interrupted_at_any_call_leave_the_new_release_intact()
    {
        var random = AppendRig.NewRandom(output);
        var draw = new CallDraw(oneOf: 8, output.WriteLine);
        // Until a deletion ends before the call at which it would be interrupted.
        for (var isComplete = false; !isComplete;)
        {
            var (call, isCarriedOut) = (draw.Next(), draw.IsAfterwards());
            using var rig = await PasswordRig.StartAsync();
            var before = await AppendRig.StartAsync(rig, AppendRig.Lines(random, 0x00000), [HashMode.Sha1]);
            await before.AppendAsync(random, [0x00000, 0x00002], rows: 5);
            var watched = new FaultyBlobs(rig.Stores.Blobs) { FailsFrom = call, LosesOnlyFirstResponse = isCarriedOut };
            var lines = AppendRig.Lines(random, 0x00000, 0x00001);
            isComplete = await FaultyBlobs.IsCompletedAsync(
                () => SwitchToOtherAndDeleteOneAsync(rig, PasswordRig.ReleasesOf(rig.Stores with { Blobs = watched.Port })));
            if (!isComplete)
            {
                // An import resumes the interrupted deletion, and is interrupted too. If the release still exists, it is refused instead.
                var crashing = new FaultyBlobs(rig.Stores.Blobs) { FailsFrom = random.Next(1, 20) };
                try
                {
                    await FaultyBlobs.IsCompletedAsync(() => rig.ImportAsync(
                        lines, HashMode.Sha1, "one", [PasswordBackend.Pack], rig.Stores with { Blobs = crashing.Port }));
                }
                catch (NotPossibleException)
                {
                    // The release still exists.
                }
                if (await rig.Releases.FindAsync("one", None) is not null)
                    await rig.Releases.DeleteAsync("one", None);
            }
            var after = await AppendRig.StartAsync(rig, lines, [HashMode.Sha1]);
            await after.AssertServedAsync();
            await after.AppendAsync(random, [0x00000, 0x00001, 0x00002], rows: 10);
            await rig.RepackAsync();
            await after.AssertServedAsync();
        }
    }

    [Fact]
    public async Task Release_without_an_id_is_served_appended_to_copied_repacked_and_deleted_in_place()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        using var near = await PasswordRig.StartAsync();
        // As an earlier version wrote it; this version appends to it in place.
        await rig.Stores.Blobs.CreateAsync(None);
        await rig.Stores.Blobs.WriteAsync(
            PasswordNames.Release("one"),
            PasswordContent.Json("""{"version":1,"name":"one","createdAt":"2026-11-22T14:40:59+00:00","parts":[]}"""u8.ToArray()),
            null, None);
        var appends = await AppendRig.StartAsync(rig, AppendRig.Lines(random, 0x00000));
        var sent = await appends.AppendAsync(random, [0x00000, 0x00001], rows: 10);
        Assert.Equal("one", (await appends.FindAsync(sent))!.Release);
        foreach (var name in new[] { "pack/sha1/00", "pack/ntlm/index", "overlay/sha1/00000", "changes/0001" })
            Assert.NotNull(await rig.Stores.Blobs.FindAsync($"releases/one/{name}", None));
        var document = Encoding.UTF8.GetString((await rig.Stores.Blobs.ReadAsync(PasswordNames.Release("one"), null, None))!.Bytes.Span);
        Assert.DoesNotContain("\"id\"", document, StringComparison.Ordinal);
        Assert.Contains("\"version\": 1", document, StringComparison.Ordinal);
        await appends.AssertServedAsync();

        await rig.CopyAsync(near.Replica);
        await near.Releases.SwitchAsync(PasswordBackend.Pack, "one", None);
        await appends.AssertServedAsync(near.Stores);
        await rig.RepackAsync();
        await appends.AssertServedAsync();
        await rig.Releases.DeleteAsync("one", None);
        Assert.Empty(await rig.Stores.Blobs.ListAsync("releases/one/", None).ToListAsync(None));
        Assert.NotNull((await rig.Releases.BeginAsync("one", None)).Id);
    }

    [Fact]
    public async Task Replica_recopies_after_an_interrupted_deletion_and_refuses_a_namesake_release()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        using var near = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, AppendRig.Lines(random, 0x00000));
        await appends.AppendAsync(random, [0x00000, 0x00001], rows: 10);
        await rig.CopyAsync(near.Replica);
        // Its changes are deleted, but not the record that they were copied.
        var watched = new FaultyBlobs(near.Stores.Blobs)
        {
            Before = FaultyBlobs.OnceAt("Delete", "/copied.json", () => throw new ProcessEndedException()),
        };
        await Assert.ThrowsAsync<ProcessEndedException>(
            () => PasswordRig.ReleasesOf(near.Stores with { Blobs = watched.Port }).DeleteAsync("one", None));
        await rig.CopyAsync(near.Replica);
        await near.Releases.SwitchAsync(PasswordBackend.Pack, "one", None);
        await appends.AssertServedAsync(near.Stores);

        // The same name, but another release, without the appended rows.
        await SwitchToOtherAndDeleteOneAsync(rig, rig.Releases);
        await rig.ImportAsync([$"{new string('B', 40)}:1"], HashMode.Sha1, "one", [PasswordBackend.Pack]);
        await Assert.ThrowsAsync<NotPossibleException>(() => rig.CopyAsync(near.Replica));
        var everywhere = new ReplicatedReleases(rig.Releases, [near.Replica]);
        Assert.Equal(
            ReplicaResult.Lacking, Assert.Single((await everywhere.SwitchAsync(PasswordBackend.Pack, "one", None)).Replicas).Result);
        await appends.AssertServedAsync(near.Stores);
    }

    [Fact]
    public async Task Overlay_missing_a_hash_of_its_imported_range_is_not_repacked()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        var lines = AppendRig.Lines(random, 0x00000);
        var appends = await AppendRig.StartAsync(rig, lines);
        await appends.AppendAsync(random, [0x00000], rows: 3);
        var overlay = await rig.FindNameAsync("/overlay/sha1/00000");
        var rows = Text((await rig.Stores.Blobs.ReadAsync(overlay, null, None))!.Bytes).Split("\r\n");
        var imported = lines[0][HashModes.PrefixDigits..].Split(':')[0];
        var shortened = Encoding.ASCII.GetBytes(
            string.Join("\r\n", rows.Where(row => !row.StartsWith(imported, StringComparison.Ordinal))));
        await rig.Stores.Blobs.WriteAsync(
            overlay, PasswordContent.Range(RangeGzip.Compress(shortened)), IPasswordBlobs.AnyVersion, None);

        var error = await Assert.ThrowsAsync<StoreMismatchException>(() => rig.RepackAsync());
        Assert.Contains("range 00000", error.Message, StringComparison.Ordinal);
        Assert.Equal("one", Assert.Single(await rig.Releases.ListAsync(None)).Name);
    }

    private static async Task SwitchToOtherAndDeleteOneAsync(PasswordRig rig, PasswordReleases releases)
    {
        await rig.ImportAsync([$"{new string('A', 40)}:1"], HashMode.Sha1, "other", [PasswordBackend.Pack]);
        await rig.Releases.SwitchAsync(PasswordBackend.Pack, "other", None);
        await releases.DeleteAsync("one", None);
    }

    private static string Text(ReadOnlyMemory<byte> gzip) => Encoding.ASCII.GetString(RangeGzip.Decompress(gzip));
}
