using System.Collections.Concurrent;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Options;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>Tests that each append counts once, and is served, listed, repacked and copied, also after crashes.</summary>
public sealed class AppendTests(ITestOutputHelper output)
{
    private static readonly CancellationToken None = CancellationToken.None;

    // Two groups; the second range is empty until something is appended.
    private static readonly int[] Prefixes = [0x00000, 0x00001, 0x0FFFF, 0x10000];

    [Fact]
    public async Task Duplicate_concurrent_and_reordered_messages_count_once_despite_crashes()
    {
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        var sent = new List<AppendTransaction>();
        for (var i = 0; i < 12; i++)
            sent.Add(await appends.SendAsync(random, Prefixes, rows: 40));

        var waiting = new List<string>();
        for (var round = 0; ; round++)
        {
            waiting.AddRange(await appends.ClaimAsync());
            if (waiting.Count == 0)
                break;
            // Some messages come twice, and some of those again later.
            string[] bodies = [.. waiting, .. waiting.Where(_ => random.Next(2) == 0)];
            random.Shuffle(bodies);
            waiting.Clear();
            var failing = round < 8 ? random.Next(1, 40) : 0;
            var handlers = Enumerable.Range(0, 3)
                .Select(_ => appends.NewHandler(
                    new FaultyBlobs(rig.Stores.Blobs) { FailsFrom = failing, LosesOnlyFirstResponse = round % 2 == 0 }))
                .ToList();
            await Parallel.ForEachAsync(bodies, new ParallelOptions { MaxDegreeOfParallelism = 6 }, async (body, token) =>
            {
                try
                {
                    await handlers[Math.Abs(body.GetHashCode(StringComparison.Ordinal)) % handlers.Count].RunAsync(body, token);
                }
                catch (Exception e) when (e is ProcessEndedException or AggregateException)
                {
                    lock (waiting)
                        waiting.Add(body);
                }
            });
        }
        foreach (var one in sent)
            Assert.Equal(AppendState.Done, (await appends.FindAsync(one))!.State);
        await AssertServedAsync(rig, appends, $"seed {seed}");
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Append_interrupted_at_any_call_completes_on_redelivery(bool isCarriedOut)
    {
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        var calls = 0;
        for (var call = 1; calls == 0; call++)
        {
            var transaction = await appends.SendAsync(random, Prefixes, rows: 5);
            var watched = new FaultyBlobs(rig.Stores.Blobs) { FailsFrom = call, LosesOnlyFirstResponse = isCarriedOut };
            var handler = appends.NewHandler(watched);
            var again = new List<string>();
            while (await appends.ClaimAsync() is { Count: > 0 } bodies)
            {
                foreach (var body in bodies)
                {
                    try
                    {
                        await handler.RunAsync(body, None);
                    }
                    catch (Exception e) when (e is ProcessEndedException or AggregateException)
                    {
                        again.Add(body);
                    }
                }
            }
            if (again.Count == 0)
                calls = watched.Calls;
            foreach (var body in again)
                await appends.NewHandler().RunAsync(body, None);
            await appends.WorkAsync();
            Assert.Equal(AppendState.Done, (await appends.FindAsync(transaction))!.State);
        }
        output.WriteLine($"{calls} calls");
        Assert.InRange(calls, 10, 100);
        await AssertServedAsync(rig, appends, $"seed {seed}");
    }

    [Fact]
    public async Task Server_serves_appended_rows_after_a_refresh_and_lists_the_changed_ranges()
    {
        var (random, _) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        using var ranges = Open(rig);
        var before = await ranges.FindAsync(HashMode.Sha1, 0x00000, None);
        var nothing = await ranges.FindAsync(HashMode.Sha1, 0x00001, None);
        Assert.Empty((await ranges.FindChangesAsync(HashMode.Sha1, TimeProvider.System.GetUtcNow(), None))!.Prefixes!);

        var began = TimeProvider.System.GetUtcNow();
        await appends.SendAsync(random, [0x00000, 0x00001], rows: 10);
        await appends.WorkAsync();
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
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        string[] lines = [.. Make(random)];
        var appends = await AppendRig.StartAsync(rig, lines);
        await appends.SendAsync(random, Prefixes, rows: 20);
        await appends.WorkAsync();
        foreach (var backend in new[] { PasswordBackend.Blob, PasswordBackend.Table })
        {
            await rig.ImportAsync(lines, HashMode.Sha1, "one", [backend]);
            await rig.ImportAsync(lines.Select(line => line[..5] + line[13..]), HashMode.Ntlm, "one", [backend]);
            await rig.Releases.SwitchAsync(backend, "one", None);
            await AssertServedAsync(rig, appends, $"{backend}, seed {seed}");
        }
    }

    [Fact]
    public async Task Mode_does_not_join_a_release_with_appends_that_it_would_miss()
    {
        var (random, _) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        string[] lines = [.. Make(random)];
        await rig.ImportAsync(lines, HashMode.Sha1, "sha", [PasswordBackend.Pack]);
        await new ChangeLog(rig.Stores.Blobs, await rig.KeyAsync("sha")).AddAsync(
            HashMode.Sha1, [1], TimeProvider.System.GetUtcNow(), None);
        var ntlm = lines.Select(line => line[8..]);
        await Assert.ThrowsAsync<NotPossibleException>(() => rig.ImportAsync(ntlm, HashMode.Ntlm, "sha", [PasswordBackend.Pack]));
        Assert.NotEqual("sha", (await rig.ImportAsync(ntlm, HashMode.Ntlm, null, [PasswordBackend.Pack])).Release);
    }

    [Fact]
    public async Task Concurrent_appends_that_fill_a_file_of_changes_continue_in_the_next_one()
    {
        using var rig = await PasswordRig.StartAsync();
        await rig.Stores.Blobs.CreateAsync(None);
        var release = new ReleaseKey("some", null);
        var (appended, both) = (0, new TaskCompletionSource());
        var blobs = new FaultyBlobs(rig.Stores.Blobs)
        {
            OnAppend = (name, blocks) => name == PasswordNames.Changes(release, 1) ? 45_000 : blocks,
            After = (operation, _) =>
            {
                if (operation == "Append" && Interlocked.Increment(ref appended) == 2)
                    both.SetResult();
                return operation == "Append" ? both.Task : Task.CompletedTask;
            },
        };
        var changes = new ChangeLog(blobs, release);
        await Task.WhenAll(AddAsync(), AddAsync());
        await AddAsync();
        Assert.NotNull(await rig.Stores.Blobs.FindAsync(PasswordNames.Changes(release, 2), None));

        Task AddAsync() => changes.AddAsync(HashMode.Sha1, [1], TimeProvider.System.GetUtcNow(), None);
    }

    [Fact]
    public async Task Export_includes_appended_rows()
    {
        var (random, _) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        await appends.SendAsync(random, Prefixes, rows: 20);
        await appends.WorkAsync();
        using var exported = new MemoryStream();
        var rows = await new ExportPasswords(rig.Stores, rig.Releases, TimeProvider.System)
            .RunAsync(null, HashMode.Ntlm, exported, null, None);
        var lines = Encoding.ASCII.GetString(exported.ToArray()).TrimEnd('\n').Split('\n');
        Assert.Equal(rows, lines.Length);
        Assert.Equal(
            appends.Ranges().Where(one => one.Mode == HashMode.Ntlm).OrderBy(one => one.Prefix)
                .SelectMany(one => appends.Expect(HashMode.Ntlm, one.Prefix).Select(row => HashModes.PrefixText(one.Prefix) + row)),
            lines);
    }

    [Fact]
    public async Task Full_range_accepts_another_transaction_once_the_oldest_are_settled()
    {
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        // The list of a range's ids is full, and all of its transactions are done.
        await appends.SendAsync(random, [0x00000], rows: 1);
        await appends.WorkAsync();
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
            await rig.Appends.AddAsync(done, None);
            applied = applied.With(done.Id);
        }
        var overlay = PasswordNames.Overlay(await rig.KeyAsync("one"), HashMode.Sha1, 0);
        var blob = await rig.Stores.Blobs.ReadAsync(overlay, null, None);
        await rig.Stores.Blobs.WriteAsync(
            overlay, PasswordContent.Range(blob!.Bytes) with { Note = applied.Text }, IPasswordBlobs.AnyVersion, None);
        var late = await appends.SendAsync(random, [0x00000], rows: 1);
        await Assert.ThrowsAsync<UnavailableException>(() => appends.WorkAsync());

        // Two hours later the oldest ids can't be sent again and are forgotten; those of unfinished transactions are kept.
        var time = new TestClock();
        time.Advance(TimeSpan.FromHours(2));
        await rig.AppendQueue.SendAsync(new AppendMessage(late.Submitter, late.Id).ToJson(), TimeSpan.Zero, None);
        await appends.WorkAsync(time);
        Assert.Equal(AppendState.Done, (await appends.FindAsync(late))!.State);
        await AssertServedAsync(rig, appends, $"seed {seed}");
        var note = (await rig.Stores.Blobs.ReadAsync(overlay, null, None))!.Note;
        Assert.Equal([late.Id], new[] { late.Id }.Where(AppliedTransactions.Parse(note).Contains));
        Assert.Equal(1, AppliedTransactions.Parse(note).Count);
    }

    [Fact]
    public async Task Sweep_resends_lost_messages_and_removes_expired_transactions()
    {
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        var time = new TestClock();
        var sweep = new SweepAppends(rig.Appends, new OneQueue(rig.AppendQueue), time, NullLogger<SweepAppends>.Instance);
        var unconfirmed = new AppendTransaction
        {
            Submitter = "somebody",
            Id = Guid.NewGuid(),
            CreatedAt = time.GetUtcNow(),
            Sha1Rows = 0,
            NtlmRows = 0,
        };
        await rig.Appends.AddAsync(unconfirmed, None);
        var lost = await appends.SendAsync(random, Prefixes, rows: 5);
        Assert.Single(await appends.ClaimAsync());

        // Confirmed, and no message was recorded as sent.
        await sweep.RunAsync(None);
        await appends.NewHandler(time: time).RunAsync(Assert.Single(await appends.ClaimAsync()), None);
        Assert.NotEmpty(await appends.ClaimAsync()); // its parts, lost
        await sweep.RunAsync(None);
        Assert.Empty(await appends.ClaimAsync());
        time.Advance(SweepAppends.SendAgainAfter);
        await sweep.RunAsync(None);
        await appends.WorkAsync(time);
        Assert.Equal(AppendState.Done, (await appends.FindAsync(lost))!.State);
        await AssertServedAsync(rig, appends, $"seed {seed}");

        Assert.NotNull(await appends.FindAsync(unconfirmed));
        time.Advance(SweepAppends.UnconfirmedFor);
        await sweep.RunAsync(None);
        Assert.Null(await appends.FindAsync(unconfirmed));
        Assert.NotNull(await appends.FindAsync(lost));
        time.Advance(TimeSpan.FromDays(7));
        await sweep.RunAsync(None);
        Assert.Null(await appends.FindAsync(lost));
        Assert.Null(await rig.Appends.ReadRowsAsync(lost.Id, 0, 1, None));
        Assert.Empty(await appends.ClaimAsync());
    }

    [Fact]
    public async Task Repacked_release_includes_appended_rows_and_defers_concurrent_appends()
    {
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        var repack = new RepackPasswords(rig.Stores, rig.Releases, rig.Appends, TimeProvider.System);
        await Assert.ThrowsAsync<NotPossibleException>(() => RunAsync(repack, "none"));
        await appends.SendAsync(random, Prefixes, rows: 20);
        await appends.WorkAsync();

        // Killed at its end: the new release is listed but not served.
        await Assert.ThrowsAsync<ProcessEndedException>(() => repack.RunAsync(
            "two", rig.Folder, (_, _) => throw new ProcessEndedException(), null, null, None));
        var waits = await appends.SendAsync(random, Prefixes, rows: 20);
        var body = Assert.Single(await appends.ClaimAsync());
        await Assert.ThrowsAsync<UnavailableException>(() => appends.NewHandler().RunAsync(body, None));
        Assert.Null((await appends.FindAsync(waits))!.Release);
        var error = await Assert.ThrowsAsync<NotPossibleException>(() => RunAsync(repack, "three"));
        Assert.Contains("--release two", error.Message, StringComparison.Ordinal);

        var repacked = await RunAsync(repack, null);
        Assert.Equal(("one", "two"), (repacked.From, repacked.Release));
        Assert.Equal(HashModes.All.Count, repacked.Parts.Count);
        await appends.NewHandler().RunAsync(body, None);
        await appends.WorkAsync();
        Assert.Equal("two", ReleaseKey.Parse((await appends.FindAsync(waits))!.Release!).Name);
        await AssertServedAsync(rig, appends, $"seed {seed}");

        Task<RepackedPasswords> RunAsync(RepackPasswords work, string? name) => work.RunAsync(
            name, rig.Folder, (release, token) => rig.Releases.SwitchAsync(PasswordBackend.Pack, release, token), null, null, None);
    }

    [Fact]
    public async Task Concurrent_repacks_of_one_release_are_completed_by_the_later_one()
    {
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        await appends.SendAsync(random, Prefixes, rows: 5);
        await appends.WorkAsync();
        var isFirst = true;
        // The first repack has listed its work when the second starts, and continues when that has ended.
        var stores = rig.Stores with
        {
            Blobs = new FaultyBlobs(rig.Stores.Blobs)
            {
                OnWrite = (name, content) =>
                {
                    if (name.EndsWith("/index", StringComparison.Ordinal) && isFirst)
                    {
                        isFirst = false;
                        Task.Run(() => RunAsync(rig.Stores)).GetAwaiter().GetResult();
                    }
                    return content;
                },
            },
        };
        await Assert.ThrowsAnyAsync<HibpException>(() => RunAsync(stores));
        Assert.NotEqual("one", (await rig.Releases.GetCurrentAsync(None))!.Served.Release);
        Assert.Equal(2, (await rig.Releases.ListAsync(None)).Count);
        await AssertServedAsync(rig, appends, $"seed {seed}");

        Task<RepackedPasswords> RunAsync(PasswordStores of) =>
            new RepackPasswords(of, PasswordRig.ReleasesOf(of), rig.Appends, TimeProvider.System).RunAsync(
                null, rig.Folder, (release, token) => rig.Releases.SwitchAsync(PasswordBackend.Pack, release, token), null, null, None);
    }

    [Fact]
    public async Task Repack_interrupted_at_any_call_completes_when_repeated()
    {
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        await appends.SendAsync(random, Prefixes, rows: 5);
        await appends.WorkAsync();
        var calls = 0;
        var draw = new CallDraw(oneOf: 5, output.WriteLine);
        while (calls == 0)
        {
            // Its cleanup fails too, as if it were killed.
            var watched = new FaultyBlobs(rig.Stores.Blobs) { FailsFrom = draw.Next(), LosesOnlyFirstResponse = draw.IsAfterwards() };
            var stores = rig.Stores with { Blobs = watched };
            try
            {
                await RunAsync(stores);
                calls = watched.Calls;
            }
            catch (Exception e) when (e is ProcessEndedException or AggregateException)
            {
                if ((await rig.Releases.GetCurrentAsync(None))!.Served.Release == "one")
                    continue; // repeated with its leftovers
                break;
            }
        }
        output.WriteLine($"{calls} calls");
        await AssertServedAsync(rig, appends, $"seed {seed}");
        // Leftovers block nothing.
        var served = (await rig.Releases.GetCurrentAsync(None))!.Served.Release;
        Assert.NotEqual("one", served);
        await appends.SendAsync(random, Prefixes, rows: 5);
        await appends.WorkAsync();
        await AssertServedAsync(rig, appends, $"seed {seed}");

        Task<RepackedPasswords> RunAsync(PasswordStores stores) =>
            new RepackPasswords(stores, PasswordRig.ReleasesOf(stores), rig.Appends, TimeProvider.System).RunAsync(
                null, rig.Folder, (release, token) => PasswordRig.ReleasesOf(stores).SwitchAsync(PasswordBackend.Pack, release, token),
                null, null, None);
    }

    [Fact]
    public async Task Caches_are_purged_of_each_changed_range_once_30_addresses_a_call_with_retries()
    {
        var (random, _) = NewRandom();
        var purged = new ConcurrentQueue<string[]>();
        var failures = 0;
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        await using var cache = builder.Build();
        cache.Run(async context =>
        {
            var call = (await JsonDocument.ParseAsync(context.Request.Body)).RootElement.GetProperty("files");
            context.Response.StatusCode = Interlocked.Decrement(ref failures) >= 0 ? 500 : 200;
            if (context.Response.StatusCode == 200)
                purged.Enqueue([.. call.EnumerateArray().Select(one => one.GetString()!)]);
        });
        await cache.StartAsync();
        using var rig = await PasswordRig.StartAsync();
        using var http = new HttpClient();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        var purge = new PurgeChanges(
            rig.Stores, new PurgeHook(new Uri(cache.Urls.Single()), null, http, NullLogger<PurgeHook>.Instance), "https://hibp.example");
        await purge.RunAsync(None);
        Assert.Empty(purged);

        int[] prefixes = [.. Enumerable.Range(0x20000, 40)];
        await appends.SendAsync(random, prefixes, rows: 400);
        await appends.WorkAsync();
        failures = 3;
        await Assert.ThrowsAsync<UnavailableException>(() => purge.RunAsync(None));
        await purge.RunAsync(None);
        await purge.RunAsync(None);
        var expected = appends.Ranges().Where(one => one.Prefix >= 0x20000).SelectMany(one => one.Mode == HashMode.Sha1
            ? new[] { $"https://hibp.example/range/{one.Prefix:X5}", $"https://hibp.example/range/{one.Prefix:X5}?mode=sha1" }
            : [$"https://hibp.example/range/{one.Prefix:X5}?mode=ntlm"]);
        Assert.Equal(expected.Order(), purged.SelectMany(call => call).Order());
        Assert.All(purged, call => Assert.InRange(call.Length, 1, 30));

        // Only what is appended from now on is reported.
        purged.Clear();
        await appends.SendAsync(random, [0x20001], rows: 1);
        await appends.WorkAsync();
        await purge.RunAsync(None);
        Assert.Equal(3, purged.SelectMany(call => call).Count());
    }

    [Fact]
    public async Task Replica_receives_newly_appended_rows_with_each_copy()
    {
        var (random, seed) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        using var near = await PasswordRig.StartAsync();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        var replicate = new ReplicatePasswords(rig.Stores, rig.Releases, TimeProvider.System);
        for (var round = 0; round < 2; round++)
        {
            await appends.SendAsync(random, Prefixes, rows: 10);
            await appends.WorkAsync();
            await replicate.RunAsync(near.Replica, "one", null, None);
            await near.Releases.SwitchAsync(PasswordBackend.Pack, "one", None);
            await AssertServedAsync(near, appends, $"round {round}, seed {seed}");
        }
    }

    [Fact]
    public async Task Changes_missing_from_a_replica_are_listed_by_the_next_account_requested()
    {
        var (random, _) = NewRandom();
        using var rig = await PasswordRig.StartAsync();
        using var near = await PasswordRig.StartAsync();
        var time = new TestClock();
        var appends = await AppendRig.StartAsync(rig, [.. Make(random)]);
        var replicate = new ReplicatePasswords(rig.Stores, rig.Releases, time);
        await replicate.RunAsync(near.Replica, "one", null, None);
        await near.Releases.SwitchAsync(PasswordBackend.Pack, "one", None);
        using var primary = new PasswordRanges(rig.Stores, Options.Create(new PasswordOptions()), time, NullLoggerFactory.Instance);
        using var nearest = new NearestRanges(
            near.Stores, rig.Stores, Options.Create(new PasswordOptions()), time, NullLoggerFactory.Instance);
        var since = time.GetUtcNow();
        time.Advance(TimeSpan.FromMinutes(1));
        await appends.SendAsync(random, [0x00000], rows: 5);
        await appends.WorkAsync(time);
        time.Advance(TimeSpan.FromHours(1));

        // The replica doesn't have the change yet; the primary lists it from the time at which the replica's list ended.
        await nearest.RefreshAsync(None);
        await primary.RefreshAsync(None);
        var first = (await nearest.FindChangesAsync(HashMode.Sha1, since, None))!;
        Assert.Empty(first.Prefixes!);
        Assert.Equal([0], (await primary.FindChangesAsync(HashMode.Sha1, first.Next, None))!.Prefixes!);

        // After the copy, the replica lists the change too, although it is older than the requested time.
        await replicate.RunAsync(near.Replica, "one", null, None);
        time.Advance(TimeSpan.FromHours(1));
        await nearest.RefreshAsync(None);
        var second = (await nearest.FindChangesAsync(HashMode.Sha1, first.Next, None))!;
        Assert.Equal([0], second.Prefixes!);
        Assert.InRange(second.Next, time.GetUtcNow() - (2 * ChangedRanges.Margin), time.GetUtcNow());
        Assert.Empty((await nearest.FindChangesAsync(HashMode.Sha1, second.Next, None))!.Prefixes!);

        // Another release, served by the primary and not by the replica, may have changed anything.
        await rig.ImportAsync([.. Make(random)], HashMode.Sha1, "two", [PasswordBackend.Pack]);
        await PasswordRig.ReleasesOf(rig.Stores, time).SwitchAsync(PasswordBackend.Pack, "two", None);
        time.Advance(TimeSpan.FromHours(1));
        await nearest.RefreshAsync(None);
        await primary.RefreshAsync(None);
        var third = (await nearest.FindChangesAsync(HashMode.Sha1, second.Next, None))!;
        Assert.Null((await primary.FindChangesAsync(HashMode.Sha1, third.Next, None))!.Prefixes);
    }

    private static PasswordRanges Open(PasswordRig rig) =>
        new(rig.Stores, Options.Create(new PasswordOptions()), TimeProvider.System, NullLoggerFactory.Instance);

    /// <summary>Asserts that every range, as a server returns it, is what was imported plus each transaction once.</summary>
    private static async Task AssertServedAsync(PasswordRig rig, AppendRig appends, string what)
    {
        using var ranges = Open(rig);
        foreach (var (mode, prefix) in appends.Ranges())
        {
            var content = await ranges.FindAsync(mode, prefix, None);
            var text = Encoding.ASCII.GetString(content!.For(acceptsGzip: false).Bytes.Span);
            Assert.True(
                appends.Expect(mode, prefix).SequenceEqual(text.Split("\r\n")), $"{mode} {prefix:X5}, {what}");
        }
    }

    private (Random Random, int Seed) NewRandom()
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        return (new Random(seed), seed);
    }

    private static IEnumerable<string> Make(Random random)
    {
        foreach (var prefix in Prefixes.Where(prefix => prefix != 0x00001))
        {
            for (var i = 0; i < 20; i++)
                yield return $"{HashModes.PrefixText(prefix)}{random.GetHexString(35)}:{random.Next(1, 100_000)}";
        }
    }
}
