using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;

namespace HibpIngest.Integration.Tests.Passwords;

public sealed class ImportReleaseTests(ITestOutputHelper output)
{
    /// <summary>Rows of some ranges in three groups: few enough to import a hundred times.</summary>
    private static readonly string[] Lines = Make(31);

    [Theory]
    [InlineData(PasswordBackend.Pack, false)]
    [InlineData(PasswordBackend.Pack, true)]
    [InlineData(PasswordBackend.Blob, false)]
    public async Task Import_interrupted_at_any_call_resumes_and_is_listed_only_at_its_end(
        PasswordBackend backend, bool isCarriedOut)
    {
        var draw = new CallDraw(oneOf: 5, output.WriteLine);
        var calls = 0;
        while (calls == 0)
        {
            var call = draw.Next();
            using var rig = await PasswordRig.StartAsync();
            var watched = new FaultyBlobs(rig.Stores.Blobs) { FailsFrom = call, LosesOnlyFirstResponse = isCarriedOut };
            if (await FaultyBlobs.IsCompletedAsync(
                () => rig.ImportAsync(Lines, HashMode.Sha1, null, [backend], rig.Stores with { Blobs = watched.Port })))
            {
                calls = watched.Calls;
                continue;
            }
            Assert.True((await rig.Releases.ListAsync(None)).Count == 0 || isCarriedOut, $"call {call}");
            // It also resumes if it was only listed.
            await rig.ImportAsync(Lines, HashMode.Sha1, null, [backend]);
            var release = Assert.Single(await rig.Releases.ListAsync(None));
            var part = Assert.Single(release.Parts);
            Assert.Equal((backend, HashMode.Sha1, (long)Lines.Length), (part.Backend, part.Mode, part.Rows));
            await rig.Stores.AssertReleaseIsAsync(release.Name, Lines);
        }
        output.WriteLine($"{calls} calls");
        Assert.InRange(calls, 5, 1_000);
    }

    [Fact]
    public async Task Second_mode_joins_the_latest_release_and_a_third_import_makes_a_new_one()
    {
        using var rig = await PasswordRig.StartAsync();
        var first = await rig.ImportAsync(Lines, HashMode.Sha1, null, [PasswordBackend.Pack]);
        var joined = await rig.ImportAsync(
            Lines.Select(line => line[8..]), HashMode.Ntlm, null, [PasswordBackend.Pack, PasswordBackend.Blob]);
        var next = await rig.ImportAsync(Make(32), HashMode.Sha1, null, [PasswordBackend.Pack]);
        Assert.Equal(first.Release, joined.Release);
        Assert.Equal(first.Release + "b", next.Release);
        Assert.Equal(3, (await rig.Releases.FindAsync(first.Release, None))!.Parts.Count);

        // The served release would lose a mode.
        await rig.Releases.SwitchAsync(PasswordBackend.Pack, first.Release, None);
        Assert.Equal(
            [new ReleaseShortfall(HashMode.Ntlm, 0, Lines.Length)],
            await rig.Releases.ListShortfallsAsync(new(PasswordBackend.Pack, next.Release), None));
        Assert.Equal(
            [new ReleaseShortfall(HashMode.Sha1, 0, Lines.Length)],
            await rig.Releases.ListShortfallsAsync(new(PasswordBackend.Blob, first.Release), None));
    }

    [Fact]
    public async Task Import_never_overwrites_an_existing_release()
    {
        using var rig = await PasswordRig.StartAsync();
        await rig.ImportAsync(Lines, HashMode.Sha1, "one", [PasswordBackend.Pack, PasswordBackend.Table]);
        var error = await Assert.ThrowsAsync<NotPossibleException>(
            () => rig.ImportAsync(Make(32), HashMode.Sha1, "one", [PasswordBackend.Pack]));
        Assert.Contains("--release", error.Message, StringComparison.Ordinal);
        await rig.ImportAsync(Lines, HashMode.Sha1, "one", [PasswordBackend.Blob]);

        // An unlisted table may hold anything.
        var begun = await rig.Releases.BeginAsync("two", None);
        await rig.Stores.Tables.CreateAsync(PasswordNames.Table(begun, HashMode.Sha1), None);
        error = await Assert.ThrowsAsync<NotPossibleException>(
            () => rig.ImportAsync(Lines, HashMode.Sha1, "two", [PasswordBackend.Table]));
        Assert.Contains("passwords delete two", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Repeated_import_returns_the_finished_release()
    {
        using var rig = await PasswordRig.StartAsync();
        PasswordBackend[] into = [PasswordBackend.Pack, PasswordBackend.Blob];
        var first = await rig.ImportAsync(Lines, HashMode.Sha1, "one", into);
        // Killed during its cleanup, it returns the same release, with or without its name.
        foreach (var name in new[] { "one", null })
        {
            var again = await rig.ImportAsync(Lines, HashMode.Sha1, name, into);
            Assert.Equal((first.Release, ImportStart.Listed), (again.Release, again.Read.Start));
            Assert.Equal(first.Parts, again.Parts);
        }
        // Anything else is another import.
        Assert.NotEqual("one", (await rig.ImportAsync(Lines, HashMode.Sha1, null, [.. into, PasswordBackend.Table])).Release);
        Assert.NotEqual("one", (await rig.ImportAsync(Lines.Reverse(), HashMode.Sha1, null, into)).Release);
        Assert.Equal(3, (await rig.Releases.ListAsync(None)).Count);
        await rig.Stores.AssertReleaseIsAsync("one", Lines);
    }

    [Fact]
    public async Task Export_detects_a_damaged_range()
    {
        using var rig = await PasswordRig.StartAsync();
        var release = await rig.ImportAsync(Lines, HashMode.Sha1, "good", [PasswordBackend.Blob]);
        var name = PasswordNames.Range(await rig.KeyAsync("good"), HashMode.Sha1, Convert.ToInt32(Lines[0][..5], 16));
        var range = (await rig.Stores.Blobs.ReadAsync(name, null, None))!.Bytes;
        await rig.Stores.Blobs.WriteAsync(name, ServedPasswords.WithoutLastRow(range), IPasswordBlobs.AnyVersion, None);
        using var exported = new MemoryStream();
        var export = new ExportPasswords(rig.Stores, rig.Releases, TimeProvider.System);
        var error = await Assert.ThrowsAsync<StoreMismatchException>(() => export.RunAsync(
            release.Release, HashMode.Sha1, exported, null, None));
        Assert.Contains($"expected {Lines.Length} hashes", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Invalid_or_empty_import_leaves_nothing()
    {
        using var rig = await PasswordRig.StartAsync();
        var error = await Assert.ThrowsAsync<BadInputException>(
            () => rig.ImportAsync([.. Lines, "nonsense"], HashMode.Sha1, "one", [PasswordBackend.Pack]));
        Assert.Contains($"line {Lines.Length + 1}", error.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<BadInputException>(() => rig.ImportAsync([], HashMode.Sha1, "one", [PasswordBackend.Pack]));
        await Assert.ThrowsAsync<BadInputException>(() => rig.ImportAsync(Lines, HashMode.Sha1, "a-b", [PasswordBackend.Pack]));
        Assert.Empty(await rig.Releases.ListAsync(None));
        Assert.Null(await rig.Releases.GetCurrentAsync(None));
        await Assert.ThrowsAsync<NotPossibleException>(() => rig.Releases.SwitchAsync(PasswordBackend.Pack, null, None));
        await Assert.ThrowsAsync<NotPossibleException>(() => rig.Releases.SwitchAsync(PasswordBackend.Pack, "one", None));
    }

    [Fact]
    public async Task Switch_back_serves_the_previous_release_and_the_served_one_cannot_be_deleted()
    {
        using var rig = await PasswordRig.StartAsync();
        await rig.ImportAsync(Lines, HashMode.Sha1, "one", [PasswordBackend.Pack, PasswordBackend.Table]);
        await rig.ImportAsync(Make(32), HashMode.Sha1, "two", [PasswordBackend.Pack]);
        await rig.Releases.SwitchAsync(PasswordBackend.Pack, "one", None);
        var everywhere = new ReplicatedReleases(rig.Releases, []);
        await Assert.ThrowsAsync<NotPossibleException>(() => everywhere.SwitchBackAsync(None));
        await rig.Releases.SwitchAsync(PasswordBackend.Pack, "two", None);
        Assert.Equal(new ServedRelease(PasswordBackend.Pack, "one"), (await everywhere.SwitchBackAsync(None)).Served);
        Assert.Equal(new ServedRelease(PasswordBackend.Pack, "two"), (await everywhere.SwitchBackAsync(None)).Served);
        await Assert.ThrowsAsync<NotPossibleException>(() => rig.Releases.SwitchAsync(PasswordBackend.Blob, null, None));
        await Assert.ThrowsAsync<NotPossibleException>(() => rig.Releases.DeleteAsync("two", None));

        var deleted = await rig.KeyAsync("one");
        await rig.Releases.DeleteAsync("one", None);
        Assert.Equal("two", Assert.Single(await rig.Releases.ListAsync(None)).Name);
        Assert.Empty(await rig.Stores.Tables.ReadAsync(PasswordNames.Table(deleted, HashMode.Sha1), Lines[0][..5], None));
        Assert.Empty(await rig.Stores.Blobs.ListAsync("releases/one/", None).ToListAsync(None));
        await Assert.ThrowsAsync<NotPossibleException>(() => everywhere.SwitchBackAsync(None));
    }

    private static string[] Make(int seed) => AppendRig.Lines(new Random(seed), 0x00000, 0x0FFFF, 0x10000, 0xFFFFF);
}
