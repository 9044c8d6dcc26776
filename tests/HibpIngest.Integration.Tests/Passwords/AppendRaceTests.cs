using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>Tests appends during which a mode is added, a release is repacked, or ids are forgotten.</summary>
public sealed class AppendRaceTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Mode_does_not_join_a_release_appended_to_while_the_mode_is_listed()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        var lines = AppendRig.Lines(random, 0x00000, 0x00001);
        var appends = await AppendRig.StartAsync(rig, lines, [HashMode.Sha1]);
        var watched = new FaultyBlobs(rig.Stores.Blobs)
        {
            Before = FaultyBlobs.OnceAt("Write", "/release.json", () => appends.AppendAsync(random, [0x00000], rows: 3)),
        };

        var error = await Assert.ThrowsAsync<NotPossibleException>(() => rig.ImportAsync(
            AppendRig.Ntlm(lines), HashMode.Ntlm, "one", [PasswordBackend.Pack], rig.Stores with { Blobs = watched.Port }));
        Assert.Contains("were appended to release one", error.Message, StringComparison.Ordinal);
        Assert.Equal(HashMode.Sha1, Assert.Single((await rig.Releases.FindAsync("one", None))!.Parts).Mode);
        // Without a name, the same command makes a new release.
        Assert.NotEqual("one", (await rig.ImportAsync(AppendRig.Ntlm(lines), HashMode.Ntlm, null, [PasswordBackend.Pack])).Release);
    }

    [Fact]
    public async Task Dropped_mode_does_not_join_a_release_appended_to_while_the_mode_is_listed()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        using var drops = await DropRig.StartAsync(rig.Connection);
        var lines = AppendRig.Lines(random, 0x00000, 0x00001);
        var appends = await AppendRig.StartAsync(rig, lines, [HashMode.Sha1]);
        var worker = drops.Open(new FaultyBlobs(rig.Stores.Blobs)
        {
            Before = FaultyBlobs.OnceAt("Write", "/release.json", () => appends.AppendAsync(random, [0x00000], rows: 3)),
        });
        var file = await drops.DropAsync(
            "one/ntlm.txt", Encoding.ASCII.GetBytes(string.Join('\n', AppendRig.Ntlm(lines).Order(StringComparer.Ordinal))));
        await worker.PlanAsync(file);
        await worker.FinishAsync();

        Assert.Contains(
            "were appended to release one", Assert.Single(await drops.Plans.ListRefusedAsync(None)).Reason, StringComparison.Ordinal);
        Assert.Equal(HashMode.Sha1, Assert.Single((await rig.Releases.FindAsync("one", None))!.Parts).Mode);
        Assert.Empty(await drops.NamesAsync("imports/"));
    }

    [Fact]
    public async Task Mode_is_refused_once_an_append_has_skipped_it_and_complete_if_it_joins_first()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        var lines = AppendRig.Lines(random, 0x00000, 0x00001);
        var appends = await AppendRig.StartAsync(rig, lines, [HashMode.Sha1]);
        await appends.SendAsync(random, [0x00000], rows: 3);
        var messages = await appends.ClaimAsync();
        await appends.NewHandler().RunAsync(Assert.Single(messages), None);
        var parts = await appends.ClaimAsync();
        var ntlm = parts.Single(part => WorkMessage.Parse<AppendMessage>(part).Part!.Mode == HashMode.Ntlm);
        // Nothing of it is written yet, but a mode added now would miss it.
        await appends.NewHandler().RunAsync(ntlm, None);
        await Assert.ThrowsAsync<NotPossibleException>(
            () => rig.ImportAsync(AppendRig.Ntlm(lines), HashMode.Ntlm, "one", [PasswordBackend.Pack]));

        using var other = await PasswordRig.StartAsync();
        var late = await AppendRig.StartAsync(other, lines, [HashMode.Sha1]);
        var warm = late.NewHandler();
        await late.SendAsync(random, [0x00000], rows: 3);
        await warm.RunAsync(Assert.Single(await late.ClaimAsync()), None);
        await other.ImportAsync(AppendRig.Ntlm(lines), HashMode.Ntlm, "one", [PasswordBackend.Pack]);
        await other.Releases.SwitchAsync(PasswordBackend.Pack, "one", None);
        foreach (var part in await late.ClaimAsync())
            await warm.RunAsync(part, None);
        using var ranges = other.Stores.OpenRanges();
        var rows = (await ranges.ReadTextAsync(HashMode.Ntlm, 0x00000)).Split("\r\n");
        Assert.NotEmpty(late.Expect(HashMode.Ntlm, 0x00000));
        Assert.All(late.Expect(HashMode.Ntlm, 0x00000), row => Assert.Contains(row, rows));
    }

    [Fact]
    public async Task Transaction_counts_once_in_a_range_that_forgets_ids_concurrently()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, AppendRig.Lines(random, 0x00000, 0x00001));
        await appends.AppendAsync(random, [0x00000, 0x00001], rows: 20);
        var time = new TestClock();
        time.Advance(TimeSpan.FromHours(2));
        // The first range's list of ids is full, the second's has room for one; none of them is sent again.
        await FillAsync(rig, "/overlay/sha1/00000", AppliedTransactions.MaxIds);
        await FillAsync(rig, "/overlay/sha1/00001", AppliedTransactions.MaxIds - 1);

        // One transaction is in both ranges: it checks for settled ids before it reads the second range, to which
        // another transaction was added meanwhile, whose message is redelivered.
        await appends.SendAsync(random, [0x00000, 0x00001], rows: 40);
        await appends.NewHandler(time: time).RunAsync(Assert.Single(await appends.ClaimAsync()), None);
        var both = (await appends.ClaimAsync()).Single(part => WorkMessage.Parse<AppendMessage>(part).Part!.Mode == HashMode.Sha1);
        var isForgotten = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var again = "";
        var slow = appends.NewHandler(
            new FaultyBlobs(rig.Stores.Blobs)
            {
                Before = FaultyBlobs.OnceAt("Read", "/overlay/sha1/00001", async () =>
                {
                    await isForgotten.Task;
                    await appends.SendAsync(random, [0x00001], rows: 1);
                    await appends.NewHandler(time: time).RunAsync(Assert.Single(await appends.ClaimAsync()), None);
                    again = (await appends.ClaimAsync()).Single(part => WorkMessage.Parse<AppendMessage>(part).Part!.Mode == HashMode.Sha1);
                    // Killed before it records that the part is done.
                    var crashing = new FaultyBlobs(rig.Stores.Blobs)
                    {
                        Before = FaultyBlobs.OnceAt("Append", "", () => throw new ProcessEndedException()),
                    };
                    await Assert.ThrowsAsync<ProcessEndedException>(() => appends.NewHandler(crashing, time).RunAsync(again, None));
                }),
                OnWrite = (name, content) =>
                {
                    if (name.EndsWith("/overlay/sha1/00000", StringComparison.Ordinal))
                        isForgotten.TrySetResult();
                    return content;
                },
            },
            time);
        await slow.RunAsync(both, None);
        await appends.NewHandler(time: time).RunAsync(again, None);

        using var ranges = rig.Stores.OpenRanges();
        Assert.Equal(string.Join("\r\n", appends.Expect(HashMode.Sha1, 0x00001)), await ranges.ReadTextAsync(HashMode.Sha1, 0x00001));
    }

    [Fact]
    public async Task Transaction_of_a_deleted_release_counts_once_despite_a_concurrent_repack()
    {
        var random = AppendRig.NewRandom(output);
        using var rig = await PasswordRig.StartAsync();
        var lines = AppendRig.Lines(random, 0x00000, 0x00001);
        var appends = await AppendRig.StartAsync(rig, lines);
        // Begun on a release that is deleted before any of it is added.
        await rig.ImportAsync(lines, HashMode.Sha1, "two", [PasswordBackend.Pack]);
        await rig.ImportAsync(AppendRig.Ntlm(lines), HashMode.Ntlm, "two", [PasswordBackend.Pack]);
        await rig.Releases.SwitchAsync(PasswordBackend.Pack, "two", None);
        var sent = await appends.SendAsync(random, [0x00000], rows: 3);
        var body = Assert.Single(await appends.ClaimAsync());
        await appends.NewHandler().RunAsync(body, None);
        await appends.ClaimAsync(); // lost
        await rig.Releases.SwitchAsync(PasswordBackend.Pack, "one", None);
        await rig.Releases.DeleteAsync("two", None);
        // There must be something to repack.
        await appends.AppendAsync(random, [0x00001], rows: 3);

        // Its message is redelivered; after it has checked that no repack holds the release, one begins and ends.
        var handler = appends.NewHandler(new FaultyBlobs(rig.Stores.Blobs)
        {
            After = FaultyBlobs.OnceAt("Read", PasswordNames.Current, () => rig.RepackAsync(), number: 2),
        });
        await handler.RunAsync(body, None);
        await appends.WorkAsync();
        Assert.Equal(AppendState.Done, (await appends.FindAsync(sent))!.State);
        await appends.AssertServedAsync();
    }

    /// <summary>Fills a range's list with this many ids of finished transactions.</summary>
    private static async Task FillAsync(PasswordRig rig, string end, int count)
    {
        var applied = new AppliedTransactions("");
        for (var i = 0; i < count; i++)
            applied = applied.With(Guid.NewGuid());
        var name = await rig.FindNameAsync(end);
        var blob = await rig.Stores.Blobs.ReadAsync(name, null, None);
        await rig.Stores.Blobs.WriteAsync(
            name, PasswordContent.Range(blob!.Bytes) with { Note = applied.Text }, IPasswordBlobs.AnyVersion, None);
    }
}
