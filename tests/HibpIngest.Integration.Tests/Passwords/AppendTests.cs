using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;
using Microsoft.Extensions.Options;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>Tests that each append counts once, and is served, listed, repacked and copied, also after crashes.</summary>
public sealed class AppendTests(ITestOutputHelper output) : IAsyncLifetime
{
    // Two groups; the second range is empty until something is appended.
    private static readonly int[] Prefixes = [0x00000, 0x00001, 0x0FFFF, 0x10000];

    private readonly Random _random = AppendRig.NewRandom(output);
    private string[] _lines = [];
    private PasswordRig _rig = null!;
    private AppendRig _appends = null!;

    public async Task InitializeAsync()
    {
        (_lines, _rig) = (AppendRig.Lines(_random, 0x00000, 0x0FFFF, 0x10000), await PasswordRig.StartAsync());
        _appends = await AppendRig.StartAsync(_rig, _lines);
    }

    public Task DisposeAsync()
    {
        _rig.Dispose();
        return Task.CompletedTask;
    }

    [Fact]
    public async Task Duplicate_concurrent_and_reordered_messages_count_once_despite_crashes()
    {
        var sent = new List<AppendTransaction>();
        for (var i = 0; i < 12; i++)
            sent.Add(await _appends.SendAsync(_random, Prefixes, rows: 40));

        var waiting = new List<string>();
        for (var round = 0; ; round++)
        {
            waiting.AddRange(await _appends.ClaimAsync());
            if (waiting.Count == 0)
                break;
            // Some messages come twice, and some of those again later.
            string[] bodies = [.. waiting, .. waiting.Where(_ => _random.Next(2) == 0)];
            _random.Shuffle(bodies);
            waiting.Clear();
            var failing = round < 8 ? _random.Next(1, 40) : 0;
            var handlers = Enumerable.Range(0, 3)
                .Select(_ => _appends.NewHandler(
                    new FaultyBlobs(_rig.Stores.Blobs) { FailsFrom = failing, LosesOnlyFirstResponse = round % 2 == 0 }))
                .ToList();
            await Parallel.ForEachAsync(bodies, new ParallelOptions { MaxDegreeOfParallelism = 6 }, async (body, token) =>
            {
                var handler = handlers[Math.Abs(body.GetHashCode(StringComparison.Ordinal)) % handlers.Count];
                if (await FaultyBlobs.IsCompletedAsync(() => handler.RunAsync(body, token)))
                    return;
                lock (waiting)
                    waiting.Add(body);
            });
        }
        foreach (var one in sent)
            Assert.Equal(AppendState.Done, (await _appends.FindAsync(one))!.State);
        await _appends.AssertServedAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Append_interrupted_at_any_call_completes_on_redelivery(bool isCarriedOut)
    {
        var calls = 0;
        for (var call = 1; calls == 0; call++)
        {
            var transaction = await _appends.SendAsync(_random, Prefixes, rows: 5);
            var watched = new FaultyBlobs(_rig.Stores.Blobs) { FailsFrom = call, LosesOnlyFirstResponse = isCarriedOut };
            var handler = _appends.NewHandler(watched);
            var again = new List<string>();
            while (await _appends.ClaimAsync() is { Count: > 0 } bodies)
            {
                foreach (var body in bodies)
                {
                    if (!await FaultyBlobs.IsCompletedAsync(() => handler.RunAsync(body, None)))
                        again.Add(body);
                }
            }
            if (again.Count == 0)
                calls = watched.Calls;
            foreach (var body in again)
                await _appends.NewHandler().RunAsync(body, None);
            await _appends.WorkAsync();
            Assert.Equal(AppendState.Done, (await _appends.FindAsync(transaction))!.State);
        }
        output.WriteLine($"{calls} calls");
        Assert.InRange(calls, 10, 100);
        await _appends.AssertServedAsync();
    }

    [Fact]
    public async Task Server_serves_appended_rows_after_a_refresh_and_lists_the_changed_ranges()
    {
        using var ranges = _rig.Stores.OpenRanges();
        var before = await ranges.FindAsync(HashMode.Sha1, 0x00000, None);
        var nothing = await ranges.FindAsync(HashMode.Sha1, 0x00001, None);
        Assert.Empty((await ranges.FindChangesAsync(HashMode.Sha1, TimeProvider.System.GetUtcNow(), None))!.Prefixes!);

        var began = TimeProvider.System.GetUtcNow();
        await _appends.AppendAsync(_random, [0x00000, 0x00001], rows: 10);
        // Cached until the next refresh.
        Assert.Same(before, await ranges.FindAsync(HashMode.Sha1, 0x00000, None));
        await ranges.RefreshAsync(None);
        var after = await ranges.FindAsync(HashMode.Sha1, 0x00000, None);
        Assert.NotEqual(before!.Stored.ETag, after!.Stored.ETag);
        Assert.NotEqual(nothing!.Stored.ETag, (await ranges.FindAsync(HashMode.Sha1, 0x00001, None))!.Stored.ETag);
        Assert.Same(after, await ranges.FindAsync(HashMode.Sha1, 0x00000, None));

        foreach (var mode in HashModes.All)
        {
            var changed = (await ranges.FindChangesAsync(mode, began, None))!;
            Assert.Equal([0, 1], changed.Prefixes!);
            Assert.Equal(began, changed.Next);
            Assert.Empty((await ranges.FindChangesAsync(mode, TimeProvider.System.GetUtcNow().AddMinutes(1), None))!.Prefixes!);
            // Changes before the first release served are unknown.
            changed = (await ranges.FindChangesAsync(mode, began.AddDays(-1), None))!;
            Assert.Null(changed.Prefixes);
            Assert.InRange(changed.Next, began - ChangedRanges.Margin, TimeProvider.System.GetUtcNow() - ChangedRanges.Margin);
        }
    }

    [Fact]
    public async Task Every_back_end_serves_appended_rows_even_if_it_joins_later()
    {
        await _appends.AppendAsync(_random, Prefixes, rows: 20);
        foreach (var backend in new[] { PasswordBackend.Blob, PasswordBackend.Table })
        {
            await _rig.ImportAsync(_lines, HashMode.Sha1, "one", [backend]);
            await _rig.ImportAsync(AppendRig.Ntlm(_lines), HashMode.Ntlm, "one", [backend]);
            await _rig.Releases.SwitchAsync(backend, "one", None);
            await _appends.AssertServedAsync();
        }
    }

    [Fact]
    public async Task Mode_does_not_join_a_release_with_appends_that_it_would_miss()
    {
        // Not the lines of release "one": an import of the same NTLM text would join that release.
        var lines = AppendRig.Lines(_random, 0x00000);
        await _rig.ImportAsync(lines, HashMode.Sha1, "sha", [PasswordBackend.Pack]);
        await new ChangeLog(_rig.Stores.Blobs, await _rig.KeyAsync("sha")).AddAsync(
            HashMode.Sha1, [1], TimeProvider.System.GetUtcNow(), None);
        await Assert.ThrowsAsync<NotPossibleException>(
            () => _rig.ImportAsync(AppendRig.Ntlm(lines), HashMode.Ntlm, "sha", [PasswordBackend.Pack]));
        var other = (await _rig.ImportAsync(AppendRig.Ntlm(lines), HashMode.Ntlm, null, [PasswordBackend.Pack])).Release;
        Assert.DoesNotContain(other, (string[])["sha", "one"]);
    }

    [Fact]
    public async Task Concurrent_appends_that_fill_a_file_of_changes_continue_in_the_next_one()
    {
        var release = new ReleaseKey("some", null);
        var (appended, both) = (0, new TaskCompletionSource());
        var blobs = new FaultyBlobs(_rig.Stores.Blobs)
        {
            OnAppend = (name, blocks) => name == PasswordNames.Changes(release, 1) ? 45_000 : blocks,
            After = (operation, _) =>
            {
                if (operation == "Append" && Interlocked.Increment(ref appended) == 2)
                    both.SetResult();
                return operation == "Append" ? both.Task : Task.CompletedTask;
            },
        };
        var changes = new ChangeLog(blobs.Port, release);
        await Task.WhenAll(AddAsync(), AddAsync());
        await AddAsync();
        Assert.NotNull(await _rig.Stores.Blobs.FindAsync(PasswordNames.Changes(release, 2), None));

        Task AddAsync() => changes.AddAsync(HashMode.Sha1, [1], TimeProvider.System.GetUtcNow(), None);
    }

    [Fact]
    public async Task Export_includes_appended_rows()
    {
        await _appends.AppendAsync(_random, Prefixes, rows: 20);
        using var exported = new MemoryStream();
        var rows = await new ExportPasswords(_rig.Stores, _rig.Releases, TimeProvider.System)
            .RunAsync(null, HashMode.Ntlm, exported, null, None);
        var lines = Encoding.ASCII.GetString(exported.ToArray()).TrimEnd('\n').Split('\n');
        Assert.Equal(rows, lines.Length);
        Assert.Equal(
            _appends.Ranges().Where(one => one.Mode == HashMode.Ntlm).OrderBy(one => one.Prefix)
                .SelectMany(one => _appends.Expect(HashMode.Ntlm, one.Prefix).Select(row => HashModes.PrefixText(one.Prefix) + row)),
            lines);
    }

    [Fact]
    public async Task Full_range_accepts_another_transaction_once_the_oldest_are_settled()
    {
        // The list of a range's ids is full, and all of its transactions are done.
        await _appends.AppendAsync(_random, [0x00000], rows: 1);
        var applied = new AppliedTransactions("");
        for (var i = 0; i < AppliedTransactions.MaxIds; i++)
        {
            var done = new AppendTransaction
            {
                Submitter = "somebody",
                Id = Guid.NewGuid(),
                State = AppendState.Done,
                CreatedAt = TimeProvider.System.GetUtcNow(),
                DoneAt = TimeProvider.System.GetUtcNow(),
                Sha1Rows = 1,
                NtlmRows = 0,
            };
            await _rig.Appends.AddAsync(done, None);
            applied = applied.With(done.Id);
        }
        var overlay = PasswordNames.Overlay(await _rig.KeyAsync("one"), HashMode.Sha1, 0);
        var blob = await _rig.Stores.Blobs.ReadAsync(overlay, null, None);
        await _rig.Stores.Blobs.WriteAsync(
            overlay, PasswordContent.Range(blob!.Bytes) with { Note = applied.Text }, IPasswordBlobs.AnyVersion, None);
        var late = await _appends.SendAsync(_random, [0x00000], rows: 1);
        await Assert.ThrowsAsync<UnavailableException>(() => _appends.WorkAsync());

        // Two hours later the oldest ids can't be sent again and are forgotten; those of unfinished transactions are kept.
        var time = new TestClock();
        time.Advance(TimeSpan.FromHours(2));
        await _rig.AppendQueue.SendAsync(new AppendMessage(late.Submitter, late.Id).ToJson(), TimeSpan.Zero, None);
        await _appends.WorkAsync(time);
        Assert.Equal(AppendState.Done, (await _appends.FindAsync(late))!.State);
        await _appends.AssertServedAsync();
        var note = (await _rig.Stores.Blobs.ReadAsync(overlay, null, None))!.Note;
        Assert.Equal([late.Id], new[] { late.Id }.Where(AppliedTransactions.Parse(note).Contains));
        Assert.Equal(1, AppliedTransactions.Parse(note).Count);
    }

    [Fact]
    public async Task Sweep_resends_lost_messages_and_removes_expired_transactions()
    {
        var time = new TestClock();
        var sweep = new SweepAppends(_rig.Appends, new OneQueue(_rig.AppendQueue), time, NullLogger<SweepAppends>.Instance);
        var unconfirmed = new AppendTransaction
        {
            Submitter = "somebody",
            Id = Guid.NewGuid(),
            CreatedAt = time.GetUtcNow(),
            Sha1Rows = 0,
            NtlmRows = 0,
        };
        await _rig.Appends.AddAsync(unconfirmed, None);
        var lost = await _appends.SendAsync(_random, Prefixes, rows: 5);
        Assert.Single(await _appends.ClaimAsync());

        // Confirmed, and no message was recorded as sent.
        await sweep.RunAsync(None);
        await _appends.NewHandler(time: time).RunAsync(Assert.Single(await _appends.ClaimAsync()), None);
        Assert.NotEmpty(await _appends.ClaimAsync()); // its parts, lost
        await sweep.RunAsync(None);
        Assert.Empty(await _appends.ClaimAsync());
        time.Advance(SweepAppends.SendAgainAfter);
        await sweep.RunAsync(None);
        await _appends.WorkAsync(time);
        Assert.Equal(AppendState.Done, (await _appends.FindAsync(lost))!.State);
        await _appends.AssertServedAsync();

        Assert.NotNull(await _appends.FindAsync(unconfirmed));
        time.Advance(SweepAppends.UnconfirmedFor);
        await sweep.RunAsync(None);
        Assert.Null(await _appends.FindAsync(unconfirmed));
        Assert.NotNull(await _appends.FindAsync(lost));
        time.Advance(TimeSpan.FromDays(7));
        await sweep.RunAsync(None);
        Assert.Null(await _appends.FindAsync(lost));
        Assert.Null(await _rig.Appends.ReadRowsAsync(lost.Id, 0, 1, None));
        Assert.Empty(await _appends.ClaimAsync());
    }

    [Fact]
    public async Task Repacked_release_includes_appended_rows_and_defers_concurrent_appends()
    {
        await Assert.ThrowsAsync<NotPossibleException>(() => _rig.RepackAsync("none"));
        await _appends.AppendAsync(_random, Prefixes, rows: 20);

        // Killed at its end: the new release is listed but not served.
        await Assert.ThrowsAsync<ProcessEndedException>(
            () => new RepackPasswords(_rig.Stores, _rig.Releases, _rig.Appends, TimeProvider.System).RunAsync(
                "two", _rig.Folder, (_, _) => throw new ProcessEndedException(), null, null, None));
        var waits = await _appends.SendAsync(_random, Prefixes, rows: 20);
        var body = Assert.Single(await _appends.ClaimAsync());
        await Assert.ThrowsAsync<UnavailableException>(() => _appends.NewHandler().RunAsync(body, None));
        Assert.Null((await _appends.FindAsync(waits))!.Release);
        var error = await Assert.ThrowsAsync<NotPossibleException>(() => _rig.RepackAsync("three"));
        Assert.Contains("--release two", error.Message, StringComparison.Ordinal);

        var repacked = await _rig.RepackAsync(null);
        Assert.Equal(("one", "two"), (repacked.From, repacked.Release));
        Assert.Equal(HashModes.All.Count, repacked.Parts.Count);
        await _appends.NewHandler().RunAsync(body, None);
        await _appends.WorkAsync();
        Assert.Equal("two", ReleaseKey.Parse((await _appends.FindAsync(waits))!.Release!).Name);
        await _appends.AssertServedAsync();
    }

    [Fact]
    public async Task Concurrent_repacks_of_one_release_are_completed_by_the_later_one()
    {
        await _appends.AppendAsync(_random, Prefixes, rows: 5);
        // The first repack has listed its work when the second starts, and continues when that has ended.
        var watched = new FaultyBlobs(_rig.Stores.Blobs) { Before = FaultyBlobs.OnceAt("Write", "/index", () => _rig.RepackAsync(null)) };
        var stores = _rig.Stores with { Blobs = watched.Port };
        await Assert.ThrowsAnyAsync<HibpException>(() => _rig.RepackAsync(null, stores));
        Assert.NotEqual("one", (await _rig.Releases.GetCurrentAsync(None))!.Served.Release);
        Assert.Equal(2, (await _rig.Releases.ListAsync(None)).Count);
        await _appends.AssertServedAsync();
    }

    [Fact]
    public async Task Repack_interrupted_at_any_call_completes_when_repeated()
    {
        await _appends.AppendAsync(_random, Prefixes, rows: 5);
        var calls = 0;
        var draw = new CallDraw(oneOf: 5, output.WriteLine);
        while (calls == 0)
        {
            // Its cleanup fails too, as if it were killed.
            var watched = new FaultyBlobs(_rig.Stores.Blobs) { FailsFrom = draw.Next(), LosesOnlyFirstResponse = draw.IsAfterwards() };
            var stores = _rig.Stores with { Blobs = watched.Port };
            if (await FaultyBlobs.IsCompletedAsync(() => _rig.RepackAsync(null, stores)))
                calls = watched.Calls;
            else if ((await _rig.Releases.GetCurrentAsync(None))!.Served.Release != "one")
                break; // otherwise it is repeated with its leftovers
        }
        output.WriteLine($"{calls} calls");
        await _appends.AssertServedAsync();
        // Leftovers block nothing.
        var served = (await _rig.Releases.GetCurrentAsync(None))!.Served.Release;
        Assert.NotEqual("one", served);
        await _appends.AppendAsync(_random, Prefixes, rows: 5);
        await _appends.AssertServedAsync();
    }

    [Fact]
    public async Task Caches_are_purged_of_each_changed_range_once_30_addresses_a_call_with_retries()
    {
        var purged = new ConcurrentQueue<string[]>();
        var failures = 0;
        await using var cache = await LocalServer.StartAsync(async context =>
        {
            var call = (await JsonDocument.ParseAsync(context.Request.Body)).RootElement.GetProperty("files");
            context.Response.StatusCode = Interlocked.Decrement(ref failures) >= 0 ? 500 : 200;
            if (context.Response.StatusCode == 200)
                purged.Enqueue([.. call.EnumerateArray().Select(one => one.GetString()!)]);
        });
        using var http = new HttpClient();
        var purge = new PurgeChanges(
            _rig.Stores, new PurgeHook(new Uri(cache.Address), null, http, NullLogger<PurgeHook>.Instance), "https://hibp.example");
        await purge.RunAsync(None);
        Assert.Empty(purged);

        int[] prefixes = [.. Enumerable.Range(0x20000, 40)];
        await _appends.AppendAsync(_random, prefixes, rows: 400);
        failures = 3;
        await Assert.ThrowsAsync<UnavailableException>(() => purge.RunAsync(None));
        await purge.RunAsync(None);
        await purge.RunAsync(None);
        var expected = _appends.Ranges().Where(one => one.Prefix >= 0x20000).SelectMany(one => one.Mode == HashMode.Sha1
            ? new[] { $"https://hibp.example/range/{one.Prefix:X5}", $"https://hibp.example/range/{one.Prefix:X5}?mode=sha1" }
            : [$"https://hibp.example/range/{one.Prefix:X5}?mode=ntlm"]);
        Assert.Equal(expected.Order(), purged.SelectMany(call => call).Order());
        Assert.All(purged, call => Assert.InRange(call.Length, 1, 30));

        // Only what is appended from now on is reported.
        purged.Clear();
        await _appends.AppendAsync(_random, [0x20001], rows: 1);
        await purge.RunAsync(None);
        Assert.Equal(3, purged.SelectMany(call => call).Count());
    }

    [Fact]
    public async Task Changes_missing_from_a_replica_are_listed_by_the_next_account_requested()
    {
        using var near = await PasswordRig.StartAsync();
        var time = new TestClock();
        await _rig.CopyAsync(near.Replica, time: time);
        await near.Releases.SwitchAsync(PasswordBackend.Pack, "one", None);
        using var primary = _rig.Stores.OpenRanges(time);
        using var nearest = new NearestRanges(
            near.Stores, _rig.Stores, Options.Create(new PasswordOptions()), time, NullLoggerFactory.Instance);
        var since = time.GetUtcNow();
        time.Advance(TimeSpan.FromMinutes(1));
        await _appends.SendAsync(_random, [0x00000], rows: 5);
        await _appends.WorkAsync(time);
        time.Advance(TimeSpan.FromHours(1));

        // The replica doesn't have the change yet; the primary lists it from the time at which the replica's list ended.
        await nearest.RefreshAsync(None);
        await primary.RefreshAsync(None);
        var first = (await nearest.FindChangesAsync(HashMode.Sha1, since, None))!;
        Assert.Empty(first.Prefixes!);
        Assert.Equal([0], (await primary.FindChangesAsync(HashMode.Sha1, first.Next, None))!.Prefixes!);

        // After the copy, the replica lists the change too, although it is older than the requested time.
        await _rig.CopyAsync(near.Replica, time: time);
        time.Advance(TimeSpan.FromHours(1));
        await nearest.RefreshAsync(None);
        var second = (await nearest.FindChangesAsync(HashMode.Sha1, first.Next, None))!;
        Assert.Equal([0], second.Prefixes!);
        await _appends.AssertServedAsync(near.Stores);
        Assert.InRange(second.Next, time.GetUtcNow() - (2 * ChangedRanges.Margin), time.GetUtcNow());
        Assert.Empty((await nearest.FindChangesAsync(HashMode.Sha1, second.Next, None))!.Prefixes!);

        // Another release, served by the primary and not by the replica, may have changed anything.
        await _rig.ImportAsync(_lines, HashMode.Sha1, "two", [PasswordBackend.Pack]);
        await PasswordRig.ReleasesOf(_rig.Stores, time).SwitchAsync(PasswordBackend.Pack, "two", None);
        time.Advance(TimeSpan.FromHours(1));
        await nearest.RefreshAsync(None);
        await primary.RefreshAsync(None);
        var third = (await nearest.FindChangesAsync(HashMode.Sha1, second.Next, None))!;
        Assert.Null((await primary.FindChangesAsync(HashMode.Sha1, third.Next, None))!.Prefixes);
    }
}
