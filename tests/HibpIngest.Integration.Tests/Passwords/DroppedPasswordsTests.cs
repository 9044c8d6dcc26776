using HibpIngest.Passwords.Releases;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>Tests uploaded files: imported in parts by any number of processes, interrupted anywhere, or rejected.</summary>
public sealed class DroppedPasswordsTests(ITestOutputHelper output)
{
    /// <summary>Few groups, so that everything can be repeated a hundred times.</summary>
    private static readonly string[] Few = [.. Make(41, ["00000", "0000F", "FFFFF"], 4)];

    [Fact]
    public async Task File_with_a_control_character_in_its_name_is_refused_and_the_others_are_imported()
    {
        using var rig = await DropRig.StartAsync();
        await rig.DropAsync("good/hashes.txt", Bytes(Few));
        await rig.DropAsync("good\u0001/hashes.txt", Bytes(Few));
        var worker = rig.Open();
        await worker.SweepAsync();
        await worker.PumpAsync();
        await worker.SweepAsync();
        Assert.NotNull(await rig.Releases.FindAsync("good", None));
        var refused = Assert.Single(await rig.Plans.ListRefusedAsync(None));
        Assert.Equal(@"good\u0001/hashes.txt", refused.File);
        Assert.Contains("the name contains a control character", refused.Reason, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Dropped_file_gives_the_same_packs_as_the_import_command()
    {
        string[] lines = [.. Make(42, ["00000", "00FFF", "01000", "7ABCD"], 4_000), .. Make(43, ["80000", "FFFFF"], 20_000)];
        using var rig = await DropRig.StartAsync();
        using var commands = new PasswordRig(await AzuriteFixture.NewAccountAsync());
        await commands.ImportAsync(lines, HashMode.Sha1, "same", [PasswordBackend.Pack]);

        await rig.DropAsync("same/hashes.txt", Bytes(lines));
        var worker = rig.Open();
        await worker.SweepAsync();
        Assert.Equal(5, (await rig.Queue.GetDepthAsync(None)).Messages); // groups with hashes only
        await worker.PumpAsync();

        var made = Assert.Single((await rig.Releases.FindAsync("same", None))!.Parts);
        var asked = Assert.Single((await commands.Releases.FindAsync("same", None))!.Parts);
        Assert.Equal((asked.Rows, asked.Sum), (made.Rows, made.Sum));
        var (key, other) = (await rig.KeyAsync("same"), await commands.KeyAsync("same"));
        var names = await rig.NamesAsync($"releases/{key}/pack/");
        Assert.Equal(6, names.Count);
        foreach (var name in names.Where(name => !name.EndsWith("index", StringComparison.Ordinal)))
        {
            var made1 = await rig.Stores.Blobs.ReadAsync(name, null, None);
            var made2 = await commands.Stores.Blobs.ReadAsync(
                name.Replace($"/{key.Id}/", $"/{other.Id}/", StringComparison.Ordinal), null, None);
            Assert.True(made1!.Bytes.Span.SequenceEqual(made2!.Bytes.Span), name);
        }
        await rig.Stores.AssertReleaseIsAsync("same", lines);
        await AssertNothingLeftAsync(rig);
        Assert.Equal(new ServedRelease(PasswordBackend.Pack, "same"), (await rig.Releases.GetCurrentAsync(None))!.Served);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Import_interrupted_at_any_call_is_resumed(bool isCarriedOut)
    {
        var connection = await AzuriteFixture.NewAccountAsync();
        var file = Bytes(Few);
        var draw = new CallDraw(oneOf: 5, output.WriteLine);
        var calls = 0;
        while (calls == 0)
        {
            var call = draw.Next();
            using var rig = await DropRig.StartAsync(connection, $"{call}");
            var dropped = await rig.DropAsync("hashes.txt", file);
            var watched = new FaultyBlobs(rig.Stores.Blobs) { FailsFrom = call, LosesOnlyFirstResponse = isCarriedOut };
            var worker = rig.Open(watched);
            var isCompleted = await FaultyBlobs.IsCompletedAsync(async () =>
            {
                await worker.PlanAsync(dropped);
                await worker.PumpAsync();
            });
            if (isCompleted)
                calls = watched.Calls;
            else
                await rig.Open().FinishAsync();
            var release = Assert.Single(await rig.Releases.ListAsync(None));
            Assert.Equal(Few.Length, Assert.Single(release.Parts).Rows);
            await rig.Stores.AssertReleaseIsAsync(release.Name, Few);
            Assert.Equal(new ServedRelease(PasswordBackend.Pack, release.Name), (await rig.Releases.GetCurrentAsync(None))!.Served);
            await AssertNothingLeftAsync(rig);
        }
        output.WriteLine($"{calls} calls");
        Assert.InRange(calls, 20, 200);
    }

    [Fact]
    public async Task Duplicate_messages_and_concurrent_workers_make_one_release()
    {
        using var rig = await DropRig.StartAsync();
        // Leftovers of another writer are overwritten.
        var begun = await rig.Releases.BeginAsync("two", None);
        await rig.Stores.Blobs.WriteAsync(
            $"releases/{begun}/pack/sha1/00", PasswordContent.Binary("left by somebody"u8.ToArray()), IPasswordBlobs.AnyVersion, None);
        var lines = Make(43, ["00000", "01000", "02000", "03000", "F0000"], 200).ToArray();
        var dropped = await rig.DropAsync("two/hashes.txt", Bytes(lines));
        var workers = Enumerable.Range(0, 3).Select(_ => rig.Open()).ToList();
        await Task.WhenAll(workers.Select(worker => worker.PlanAsync(dropped)));
        var messages = (await rig.Queue.PeekAsync(32, None)).Select(message => message.Body).ToList();
        Assert.InRange(messages.Count, 5, 15);
        await Task.WhenAll(workers.SelectMany(worker => messages.Select(worker.ImportAsync)));

        await rig.Stores.AssertReleaseIsAsync("two", lines);
        var part = Assert.Single((await rig.Releases.FindAsync("two", None))!.Parts);
        // All of them arrive too late.
        await Task.WhenAll(messages.Select(workers[0].ImportAsync));
        await workers[1].PlanAsync(dropped);
        await workers[0].FinishAsync();
        Assert.Equal(part, Assert.Single((await rig.Releases.FindAsync("two", None))!.Parts));
        await rig.Stores.AssertReleaseIsAsync("two", lines);
        await AssertNothingLeftAsync(rig);
    }

    [Fact]
    public async Task File_replaced_or_deleted_during_its_import_leaves_nothing()
    {
        using var rig = await DropRig.StartAsync();
        var worker = rig.Open();
        var old = await rig.DropAsync("hashes.txt", Bytes(Make(44, ["00000", "01000", "02000"], 50)));
        await worker.PlanAsync(old);
        await worker.PumpAsync(maxMessages: 2);
        Assert.Equal(2, Assert.Single(await rig.Plans.ListInProgressAsync(None)).Done);
        var lines = Make(45, ["01000", "02000", "AA000"], 50).ToArray();
        var next = await rig.DropAsync("hashes.txt", Bytes(lines));
        await worker.PumpAsync(); // one detects the changed file
        Assert.Empty(await rig.Plans.ListInProgressAsync(None));
        Assert.All(await rig.NamesAsync("releases/"), name => Assert.EndsWith("/release.json", name, StringComparison.Ordinal));

        // Again, and this time the event comes first.
        await worker.PlanAsync(next);
        await worker.PumpAsync(maxMessages: 1);
        next = await rig.DropAsync("hashes.txt", Bytes(lines));
        await worker.PlanAsync(next);
        await worker.PumpAsync();
        var release = Assert.Single(await rig.Releases.ListAsync(None)).Name;
        await rig.Stores.AssertReleaseIsAsync(release, lines);
        await AssertNothingLeftAsync(rig);

        // A deleted file is not imported any more.
        await worker.PlanAsync(await rig.DropAsync("gone/hashes.txt", Bytes(Few)));
        await worker.PumpAsync(maxMessages: 1);
        await rig.Drops.DeleteAsync((await rig.Drops.FindAsync("gone/hashes.txt", None))!, None);
        await worker.SweepAsync();
        await worker.FinishAsync();
        Assert.Single(await rig.Releases.ListAsync(None));
        Assert.Equal(["releases/gone/release.json"], await rig.NamesAsync("releases/gone/"));
        await AssertNothingLeftAsync(rig);
    }

    [Theory]
    [InlineData("gzip", "hashes.txt", "found a compressed file: import it with 'hibp passwords import'")]
    [InlineData("zip", "hashes.txt", "found a compressed file: import it with 'hibp passwords import'")]
    [InlineData("empty", "hashes.txt", "found a first line of another form")]
    [InlineData("plain", "hashes.txt", "found a first line of another form")]
    [InlineData("zeros", "hashes.txt", "the file contains no hash")]
    [InlineData("unsorted", "hashes.txt", "found some that are not")]
    [InlineData("unsorted late", "hashes.txt", "belongs elsewhere")]
    [InlineData("bad line", "hashes.txt", "at byte 43: expected HASH:COUNT with the 40 hex digits of mode sha1")]
    [InlineData("bad line late", "hashes.txt", "found a count that isn't made of digits alone")]
    [InlineData("good", "A-B/hashes.txt", "release name: expected")]
    [InlineData("good", "a/b/hashes.txt", "found more folders")]
    [InlineData("good", "there/hashes.txt", "already has sha1 hashes")]
    [InlineData("good", "user@example.com.txt", "contains an @")]
    public async Task Invalid_file_is_refused_with_the_reason_and_left_in_place(string what, string name, string reason)
    {
        using var rig = await DropRig.StartAsync();
        if (name.StartsWith("there/", StringComparison.Ordinal))
        {
            await rig.Releases.AddAsync(
                await rig.Releases.BeginAsync("there", None),
                new ReleasePart(PasswordBackend.Pack, HashMode.Sha1, 1, "", "", DateTimeOffset.UnixEpoch), None);
        }
        var lines = Make(46, ["00000", "10000", "F0000"], 3_000).ToList();
        var bytes = what switch
        {
            "gzip" => ArchiveTesting.Gzip(Bytes(Few)),
            "zip" => PipelineRig.Zip(("hashes.txt", string.Join('\n', Few))),
            "empty" => [],
            "plain" => "password\n123456\n"u8.ToArray(),
            "zeros" => Bytes(Few.Select(line => $"{line.Split(':')[0]}:0")),
            "unsorted" => Bytes(Few.Reverse()),
            "unsorted late" => Bytes([.. lines[..5_000], lines[5_001], lines[5_000], .. lines[5_002..]]),
            "bad line" => Encoding.ASCII.GetBytes($"{new string('0', 40)}:1\n{new string('0', 40)}:secret\n"),
            "bad line late" => Bytes([.. lines[..5_000], $"{lines[4_999].Split(':')[0]}:secret", .. lines[5_000..]]),
            _ => Bytes(Few),
        };
        var worker = rig.Open();
        var dropped = await rig.DropAsync(name, bytes);
        await worker.PlanAsync(dropped);
        await worker.FinishAsync();

        var refused = Assert.Single(await rig.Plans.ListRefusedAsync(None));
        Assert.Contains(reason, refused.Reason, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", refused.Reason, StringComparison.Ordinal);
        Assert.Equal(name.Contains('@', StringComparison.Ordinal) ? "" : name, refused.File);
        Assert.DoesNotContain('@', refused.Reason.Replace("an @", "", StringComparison.Ordinal));
        Assert.Equal([name], await rig.DroppedAsync());
        Assert.DoesNotContain(await rig.NamesAsync("releases/"), one => !one.EndsWith("release.json", StringComparison.Ordinal));
        Assert.Empty(await rig.NamesAsync("imports/"));
        Assert.Equal(0, (await rig.Queue.GetDepthAsync(None)).Messages);

        // A good file in its place is imported, and the error is forgotten.
        await rig.DropAsync("hashes.txt", Bytes(Few));
        if (name != "hashes.txt")
            await rig.Drops.DeleteAsync(dropped, None);
        await worker.FinishAsync();
        await rig.Stores.AssertReleaseIsAsync((await rig.Releases.GetCurrentAsync(None))!.Served.Release, Few);
        await AssertNothingLeftAsync(rig);
    }

    [Fact]
    public async Task Both_modes_dropped_together_become_one_release_and_a_repeat_makes_none()
    {
        using var rig = await DropRig.StartAsync();
        var worker = rig.Open();
        var sha1 = await rig.DropAsync("sha1.txt", Bytes(Few));
        var ntlm = await rig.DropAsync("ntlm.txt", Bytes(AppendRig.Ntlm(Few).Order(StringComparer.Ordinal)));
        await Task.WhenAll(worker.PlanAsync(sha1), rig.Open().PlanAsync(ntlm));
        await worker.PumpAsync();
        await worker.FinishAsync();
        var release = Assert.Single(await rig.Releases.ListAsync(None));
        Assert.Equal([HashMode.Sha1, HashMode.Ntlm], release.Parts.Select(part => part.Mode).Order());
        await AssertNothingLeftAsync(rig);

        // The same hashes in another version of the file.
        await rig.DropAsync("again.txt", Bytes(Few));
        await worker.FinishAsync();
        Assert.Equal(release.Name, Assert.Single(await rig.Releases.ListAsync(None)).Name);
        Assert.All(
            (await rig.NamesAsync("releases/")).Where(name => !name.EndsWith("/release.json", StringComparison.Ordinal)),
            name => Assert.StartsWith($"releases/{release.Name}/", name, StringComparison.Ordinal));
        await AssertNothingLeftAsync(rig);

        // A new release with one mode only: the served one has both, and stays served.
        var lines = Make(47, ["12345"], 20).ToArray();
        await rig.DropAsync("new.txt", Bytes(lines));
        await worker.FinishAsync();
        Assert.Equal(release.Name, (await rig.Releases.GetCurrentAsync(None))!.Served.Release);
        await rig.DropAsync("newer.txt", Bytes(AppendRig.Ntlm(lines).Order(StringComparer.Ordinal)));
        await worker.FinishAsync();
        // Named by the date, which may have changed: the clock was advanced.
        var next = (await rig.Releases.GetCurrentAsync(None))!.Served.Release;
        Assert.NotEqual(release.Name, next);
        await rig.Stores.AssertReleaseIsAsync(next, lines);
        Assert.Equal(2, (await rig.Releases.ListAsync(None)).Count);
        await AssertNothingLeftAsync(rig);
    }

    [Theory]
    [InlineData(94, false)]
    [InlineData(95, true)]
    public async Task Release_with_under_95_percent_of_the_served_rows_is_listed_but_not_served(int rows, bool isServed)
    {
        using var rig = await DropRig.StartAsync();
        var log = new CollectingLogger();
        var worker = rig.Open(log: log);
        string[] lines = [.. Make(48, ["00000", "F0000"], 50)];
        await rig.DropAsync("large/hashes.txt", Bytes(lines));
        await worker.FinishAsync();
        await rig.DropAsync("small/hashes.txt", Bytes(lines.Take(rows)));
        await worker.FinishAsync();

        Assert.Equal(isServed ? "small" : "large", (await rig.Releases.GetCurrentAsync(None))!.Served.Release);
        Assert.Equal(isServed ? 0 : 1, log.Lines.Count(line => line.Event == 5257 && line.Text.Contains(
            "hibp passwords switch pack --release small", StringComparison.Ordinal)));
        await AssertNothingLeftAsync(rig);
        await rig.Releases.SwitchAsync(PasswordBackend.Pack, "small", None);
        await rig.Stores.AssertReleaseIsAsync("small", lines.Take(rows));
    }

    [Fact]
    public async Task Lost_messages_are_resent_once_none_is_in_flight()
    {
        using var rig = await DropRig.StartAsync();
        var worker = rig.Open();
        await worker.PlanAsync(await rig.DropAsync("hashes.txt", Bytes(Few)));
        await worker.PumpAsync(maxMessages: 1);
        var hidden = Assert.Single(await rig.Queue.ReceiveAsync(1, TimeSpan.FromMinutes(5), None));
        await worker.SweepAsync();
        Assert.Equal(1, (await rig.Queue.GetDepthAsync(None)).Messages);
        await rig.Queue.DeleteAsync(hidden, None);
        await worker.SweepAsync();
        Assert.Equal(1, (await rig.Queue.GetDepthAsync(None)).Messages);
        await worker.PumpAsync();
        await rig.Stores.AssertReleaseIsAsync(Assert.Single(await rig.Releases.ListAsync(None)).Name, Few);
        await AssertNothingLeftAsync(rig);
    }

    private static byte[] Bytes(IEnumerable<string> lines) => Encoding.ASCII.GetBytes(string.Join('\n', lines));

    /// <summary>Asserts that there is no file, no note and no message.</summary>
    private static async Task AssertNothingLeftAsync(DropRig rig)
    {
        Assert.Empty(await rig.DroppedAsync());
        Assert.Empty(await rig.NamesAsync("imports/"));
        Assert.Empty(await rig.NamesAsync("refused/"));
        Assert.Equal(0, (await rig.Queue.GetDepthAsync(None)).Messages);
    }

    /// <summary>Makes sorted lines of some ranges.</summary>
    private static IEnumerable<string> Make(int seed, string[] prefixes, int rows)
    {
        var random = new Random(seed);
        return prefixes.SelectMany(prefix => Enumerable.Range(0, rows)
            .Select(_ => $"{prefix}{random.GetHexString(35)}:{random.Next(1, 100_000)}").Order(StringComparer.Ordinal));
    }
}
