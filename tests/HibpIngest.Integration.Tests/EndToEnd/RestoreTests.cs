using HibpIngest.Hosting.Messages;
using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests a restored or lost database: the journal restores everything published, and no mail is sent twice.</summary>
public sealed class RestoreTests(ITestOutputHelper output)
{
    private const int Rows = 75;
    private const int BatchRows = 30;

    [Fact]
    public async Task Restore_to_any_point_shows_what_was_published_and_sends_no_mail()
    {
        await using var rig = await StartAsync();
        var backups = await MakeChangesAsync(rig);
        var (truth, table, mails, log) = (await StateAsync(rig), await rig.TableAsync(), rig.Mails(), await CountingAsync(rig));
        Assert.NotEmpty(rig.Mails());
        var draw = new CallDraw(oneOf: 5, output.WriteLine);
        foreach (var backup in draw.Of(backups.Count).Select(number => backups[number - 1]))
        {
            output.WriteLine(Path.GetFileName(backup));
            await rig.RestoreAsync(backup);
            var restored = rig.OpenContext();
            var moved = await restored.ReconcileAsync();
            Assert.Empty(moved.Log!.Problems);
            Assert.Equal((0, 0), (moved.Loads, (int)moved.Missing));
            await AssertRestoredAsync(rig, restored, truth);
            Assert.Equal(log, await CountingAsync(rig));
            Assert.Equal(LayoutContent.Sorted(table), LayoutContent.Sorted(await rig.TableAsync()));
            Assert.Equal(mails, rig.Mails());
            // Hosts and commands accept the store as complete, so there is nothing left to do.
            await Assert.ThrowsAsync<NotPossibleException>(() => restored.ReconcileAsync());
        }
    }

    [Fact]
    public async Task Suppressions_since_the_backup_are_applied_before_anything_is_sent()
    {
        var key = SuppressionKey.Parse(Convert.ToBase64String(new byte[32]))!;
        await using var rig = await StartAsync();
        rig.Options.Mail.Notify = NotifyMode.Hold;
        // Two subscribers in the breach, and an address without a subscription.
        var (one, two) = (PipelineRig.Expected(0, 1).Single(), PipelineRig.Expected(20, 1).Single());
        await rig.ImportAsync((one, null), (two, null));
        await LoadAsync(rig, "Adobe.zip", 0);
        var quiet = await rig.BackUpAsync("quiet");
        async Task StepAsync(PipelineParts context, params string[] addresses) =>
            await context.Get<SubscriberOperations>().RemoveAsync(addresses, [], SuppressionReason.Forgotten, None);
        var before = rig.OpenContext() with { SuppressionKey = key };
        Assert.Equal(2, (await before.Database.ListNotificationsAsync(new(1), 1, 10, None)).Count);
        await StepAsync(before, one, "nobody@example.net");
        Assert.Equal(two, Assert.Single(await before.Database.ListNotificationsAsync(new(1), 1, 10, None)).Email);

        // No load came since the backup: a host that starts detects this by itself, and one without the key doesn't start.
        await rig.RestoreAsync(quiet);
        await Assert.ThrowsAsync<StoreMismatchException>(() => rig.OpenContext().Get<StoreSetup>().EnsureAsync(None));
        var restarted = rig.OpenContext() with { SuppressionKey = key };
        await restarted.Get<StoreSetup>().EnsureAsync(None);
        Assert.Equal([two], await restarted.Database.ListSubscribersAsync(None).Select(subscription => subscription.Email).ToListAsync());
        Assert.Equal(2, (await restarted.Database.ListSuppressionsAsync(None)).Count);
        Assert.Equal(two, Assert.Single(await restarted.Database.ListNotificationsAsync(new(1), 1, 10, None)).Email);

        // If loads came since, the operator's command handles it.
        await rig.RestoreAsync(quiet);
        var moved = rig.OpenContext() with { SuppressionKey = key };
        await StepAsync(moved, two);
        await rig.RestoreAsync(quiet);
        moved = rig.OpenContext() with { SuppressionKey = key };
        Assert.Equal(3, (await moved.ReconcileAsync()).Suppressed);
        Assert.Empty(await moved.Database.ListSubscribersAsync(None).ToListAsync());
        Assert.Equal(
            new SubscribersImported(0, 2), await moved.Database.ImportSubscribersAsync([new(one, null), new(two, null)], key, None));
        await moved.Get<MailOperations>().NotifyAsync("Adobe", None);
        await PipelineRig.RunToEndAsync(moved);
        Assert.Empty(rig.Mails());
        await Assert.ThrowsAsync<NotPossibleException>(() => moved.ReconcileAsync());
    }

    [Fact]
    public async Task Breach_removed_before_it_was_in_the_journal_stays_removed()
    {
        await using var rig = await StartAsync();
        rig.Options.Journal.Mode = JournalMode.Off;
        await LoadAsync(rig, "Adobe.zip", 0);
        await LoadAsync(rig, "Bold.zip", 20);
        rig.Options.Journal.Mode = JournalMode.On;
        var backup = await rig.BackUpAsync("before");
        await rig.OpenContext().Get<RemoveBreach>().RunAsync("Adobe", null, None);
        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext();
        await restored.ReconcileAsync();
        await PipelineRig.RunToEndAsync(restored);
        await new RawCatalogue(restored.Catalogue).AssertShowsAsync("restored", "Bold");
        Assert.Equal(["Bold"], (await rig.FindAsync([.. PipelineRig.Expected(0, Rows)])).SelectMany(found => found)
            .Select(breach => breach.Name).Distinct());
    }

    [Fact]
    public async Task Lost_database_is_recovered_without_rows_and_sends_no_mail()
    {
        await using var rig = await StartAsync();
        await MakeChangesAsync(rig);
        var (truth, mails, log) = (await StateAsync(rig), rig.Mails(), await CountingAsync(rig));
        await rig.LoseDatabaseAsync();
        var fresh = rig.OpenContext();
        await Refusal.AssertAsync<NotPossibleException>("--empty", () => fresh.ReconcileAsync());
        await fresh.Database.UpgradeAsync(None);
        await Refusal.AssertAsync<StoreMismatchException>(
            "hibp database restored --empty", () => fresh.Get<StoreSetup>().EnsureAsync(None));

        var moved = await fresh.ReconcileAsync(empty: true);
        Assert.Equal((0, 0L), (moved.Loads, moved.Missing));
        Assert.Empty(moved.Log!.Problems);
        await AssertRestoredAsync(rig, fresh, truth);
        Assert.Equal(log, await CountingAsync(rig));
        Assert.All(await fresh.Database.ListLoadsAsync(null, None), load => Assert.True(
            load is { State: LoadState.Done, Purged: true, IsRecovered: true, Notifications.Total: 0, HeldBecause: null }));
        Assert.Contains(await fresh.Database.ListLoadsAsync(null, None), load => load is { Breach: "Game", ReplacedBy: not null });
        await Assert.ThrowsAsync<NotPossibleException>(() => fresh.ReconcileAsync(empty: true));

        // Every zip fires again, and every subscriber is imported again: no notification is sent.
        await fresh.Database.ImportSubscribersAsync([.. Subscriptions()], null, None);
        await FireAgainAsync(fresh);
        await PipelineRig.RunToEndAsync(fresh);
        Assert.Equal(mails, rig.Mails());
        await AssertRestoredAsync(rig, fresh, truth);

        // A recovered load behaves like a purged one.
        var adobe = (await fresh.Database.ListLoadsAsync("Adobe", None))[0];
        Assert.Equal(Rows, await fresh.Get<VerifyJournal>().RunAsync(adobe.Id, null, None));
        Assert.Equal(1, await fresh.Get<RequeueSlices>().RunAsync("Adobe", 2, failedOnly: false, None));
        await PipelineRig.RunToEndAsync(fresh);
        Assert.Equal(LoadState.Done, (await fresh.Database.GetLoadAsync(adobe.Id, None))!.State);
        await fresh.Get<BreachOperations>().SetHiddenAsync("Adobe", true, None);
        await PipelineRig.RunToEndAsync(fresh);
        var logged = (await JournalManifest.ReadAsync(fresh.Log, None)).Counting;
        Assert.True(logged.Single(load => load.Document!.Breach == "Adobe").Document!.Hidden);
        // The replaced load is removed with its breach, from the log too.
        await fresh.Get<RemoveBreach>().RunAsync("Game", null, None);
        Assert.All(
            (await LogContent.ReadAsync(fresh.Log)).Where(load => load.State == JournaledState.Removed), load =>
                Assert.Empty(load.Accounts));
        Assert.DoesNotContain(await LogContent.ReadAsync(fresh.Log), load => load.State == JournaledState.Replaced);

        // Another version of a recovered breach, or more of it, is held for an operator.
        await rig.DropAccountsAsync("Forum.zip", 2_000, Rows);
        await rig.DropAccountsAsync("News.zip", 3_000, Rows);
        Directory.Delete(rig.MailFolder, recursive: true); // mail numbers restart
        await PipelineRig.RunToEndAsync(fresh);
        Assert.Equal(
            [("Forum", LoadState.Held), ("News", LoadState.Done)],
            (await fresh.Database.ListLoadsAsync(null, None)).TakeLast(2).Select(load => (load.Breach, load.State)));
        Assert.Equal(["boss@example.net", "user3000@example.com"], rig.Recipients());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Journal_in_its_own_account_recovers_the_store_when_all_else_is_lost(bool bySlices)
    {
        var logConnection = await AzuriteFixture.NewAccountAsync();
        await using var rig = await StartAsync(logConnection);
        await MakeChangesAsync(rig);
        var (truth, log, lost) = (await StateAsync(rig), await CountingAsync(rig), await rig.TableAsync());
        Assert.Empty(await rig.OpenAccount().JournalBlobs.ListAsync("", None).ToListAsync());
        var (ids, highest) = (await rig.Context.Database.GetIdentityAsync(None), await rig.Context.Database.GetHighestIdsAsync(None));

        await using var other = await NewAsync(logConnection);
        var moved = await other.Context.ReconcileAsync(empty: true);
        Assert.Empty(moved.Log!.Problems);
        Assert.Equal(ids, await other.Context.Database.GetIdentityAsync(None));
        Assert.Equal(highest, await other.Context.Database.GetHighestIdsAsync(None));
        await other.Context.Get<StoreSetup>().EnsureAsync(None);
        Assert.Equal(log, await CountingAsync(other));
        Assert.Equal(truth.Catalogue, (await StateAsync(other)).Catalogue);

        // All rows are missing, and ranges are off until they have been restored.
        var counting = (await other.LoadsAsync()).Where(load => load.PublishedAt is not null).ToList();
        Assert.Equal(counting.Sum(load => load.LastPosition), moved.Missing);
        Assert.Equal(moved.Missing, await other.Context.Database.CountMissingAsync(1, None));
        Assert.Equal(
            RangesState.Off, Assert.Single((await other.Context.Database.GetLayoutsAsync(None)).Layouts).Ranges);
        Assert.Equal(RangesState.Off, (await other.Context.Register.GetReadLayoutAsync(None))!.Ranges);
        Assert.Empty(await other.TableAsync());

        // Restored from the log by slices, or by a rebuild.
        foreach (var breach in counting.Select(load => load.Breach).Distinct().Where(_ => bySlices))
            await other.Context.Get<RequeueSlices>().RunAsync(breach, null, failedOnly: false, None);
        if (!bySlices)
        {
            var rebuilt = await other.Context.Get<RebuildLayout>().RunAsync(new RebuildOrder("1"), null, None);
            Assert.Equal((counting.Count, moved.Missing), (rebuilt.Loads, rebuilt.Rows));
            await other.Context.Get<FillRanges>().RunAsync(null, null, None);
            Assert.Equal(await other.ExpectedRangesAsync(), await other.RangesAsync());
        }
        await other.RunToEndAsync();
        Assert.Equal(0, await other.Context.Database.CountMissingAsync(1, None));
        Assert.Equal(truth.Lookups, (await StateAsync(other)).Lookups);
        var marks = counting.Select(load => $"b{load.Mark}").ToHashSet();
        Assert.Equal(LayoutContent.Sorted(lost, marks), LayoutContent.Sorted(await other.TableAsync(), marks));

        // The zips are uploaded again too: those of recovered breaches are held for an operator.
        await other.ImportAsync([.. Subscriptions().Select(one => (one.Email, one.Domain))]);
        await other.DropAccountsAsync("Adobe.zip", 0, Rows, """{"Title":"Adobe Systems"}""");
        await other.RunToEndAsync();
        var again = (await other.LoadsAsync())[^1];
        Assert.True(again is { Breach: "Adobe", State: LoadState.Held } && again.Id.Value > highest.Load && again.Mark > highest.Mark);
        Assert.Empty(other.Mails());
    }

    [Fact]
    public async Task Unpublished_zip_dropped_since_the_backup_is_reloaded_and_held()
    {
        await using var rig = await StartAsync();
        await LoadAsync(rig, "Adobe.zip", 0);
        var backup = await rig.BackUpAsync("before");
        await LoadAsync(rig, "Bold.zip", 100);
        await rig.DropAccountsAsync("Lost.zip", 0, Rows);
        foreach (var isEmpty in (bool[])[false, true])
        {
            await rig.RestoreOrLoseAsync(isEmpty ? null : backup);
            var restored = rig.OpenContext();
            if (isEmpty)
                await RemoveAsync(rig, "Lost");
            var mails = rig.Mails();
            Assert.Equal(1, (await restored.ReconcileAsync(isEmpty)).Loads);
            await restored.Database.ImportSubscribersAsync([.. Subscriptions()], null, None);
            await FireAgainAsync(restored);
            await PipelineRig.RunToEndAsync(restored);
            Assert.Equal(
                [("Adobe", LoadState.Done), ("Bold", LoadState.Done), ("Lost", LoadState.Held)],
                (await restored.Database.ListLoadsAsync(null, None)).Select(load => (load.Breach, load.State)));
            Assert.Equal(mails, rig.Mails());
        }
    }

    [Fact]
    public async Task Restore_interrupted_at_any_call_is_refused_by_hosts_and_completed_by_the_next_one()
    {
        await using var rig = await StartAsync();
        await LoadAsync(rig, "Adobe.zip", 0, """{"IsSensitive":true}""");
        var backup = await rig.BackUpAsync("before");
        await LoadAsync(rig, "Bold.zip", 50);
        await LoadAsync(rig, "Bold.zip", 80);
        await rig.Context.Get<RemoveBreach>().RunAsync("Adobe", null, None);
        await LoadAsync(rig, "Cash.zip", 120);
        var truth = await StateAsync(rig);
        for (var (call, isThrough) = (1, false); !isThrough; call += call / 4 + 1)
        {
            // Alternates between a backup and no database.
            var isEmpty = call % 2 == 0;
            await rig.RestoreOrLoseAsync(isEmpty ? null : backup);
            var restored = rig.OpenContext();
            var dying = new HookedPorts((number, _) => number == call ? throw new CrashException() : Task.CompletedTask).Wrap(restored);
            try
            {
                await dying.ReconcileAsync(isEmpty);
                isThrough = true;
            }
            catch (CrashException)
            {
                output.WriteLine($"call {call}, {(isEmpty ? "empty" : "a backup")}");
                var again = rig.OpenContext();
                if (await again.Database.GetSchemaVersionAsync(None) is ( > 0, _)
                    && (await again.Register.GetConfirmedAsync(None)).MovingOn)
                {
                    await Assert.ThrowsAsync<StoreMismatchException>(() => again.Get<StoreSetup>().EnsureAsync(None));
                }
                await again.ReconcileAsync(isEmpty);
            }
            var after = rig.OpenContext();
            await AssertRestoredAsync(rig, after, truth);
            Assert.Equal(0, await after.Database.CountMissingAsync(1, None));
        }
    }

    [Fact]
    public async Task Damaged_journal_entries_are_named_and_the_other_loads_are_recovered()
    {
        await using var rig = await StartAsync();
        await LoadAsync(rig, "Adobe.zip", 0);
        await LoadAsync(rig, "Bold.zip", 100);
        await LoadAsync(rig, "Cash.zip", 200);
        await LoadAsync(rig, "Dust.zip", 300);
        await LoadAsync(rig, "Elk.zip", 400);
        var folders = (await JournalManifest.ReadAsync(rig.Context.Log, None)).Loads.Select(load => load.Folder).ToList();
        // A missing segment, a truncated later document, missing flags, and another load's document.
        var segment = JournalNames.Segment(folders[0], BatchRows + 1);
        var saved = await rig.ReadJournalAsync(segment);
        await rig.Context.Log.DeleteAsync(segment, None);
        await rig.Context.Log.WriteAsync(JournalNames.Document(folders[1], 900), "{\"format\":1,"u8.ToArray(), None);
        var original = Encoding.UTF8.GetString(await rig.ReadJournalAsync(folders[2] + JournalNames.Load));
        await rig.Context.Log.DeleteAsync(folders[2] + JournalNames.Load, None);
        var unflagged = Encoding.UTF8.GetBytes(original.Replace("\"hidden\": false,", "", StringComparison.Ordinal));
        await rig.Context.Log.WriteAsync(folders[2] + JournalNames.Load, unflagged, None);
        await rig.Context.Log.WriteAsync(
            "0000000077-0123456789abcdef/load.json", await rig.ReadJournalAsync(folders[3] + JournalNames.Load), None);
        await rig.Context.Log.WriteAsync("0000000078-0123456789abcdef/000000000001.alog", "x"u8.ToArray(), None);

        await rig.LoseDatabaseAsync();
        var fresh = rig.OpenContext();
        var moved = await fresh.ReconcileAsync(empty: true);
        Assert.Equal(["0000000078-0123456789abcdef/"], moved.Log!.Begun);
        Assert.Equal(["Bold", "Cash"], moved.Log.Hidden);
        Assert.Equal(3, moved.Log.Problems.Count);
        foreach (var blobName in (string[])[segment, JournalNames.Document(folders[1], 900), "0000000077-0123456789abcdef/"])
            Assert.Single(moved.Log.Problems, problem => problem.Contains(blobName, StringComparison.Ordinal));
        Assert.All(moved.Log.Problems, problem => Assert.DoesNotContain('@', problem));
        var raw = new RawCatalogue(fresh.Catalogue);
        await raw.AssertShowsAsync("hidden and missing", "Dust", "Elk");
        // The zip without a load is loaded again, and held.
        Assert.Equal(1, moved.Loads);
        Assert.Null(await fresh.Database.GetJournalEntryAsync(new(1), None));
        await PipelineRig.RunToEndAsync(fresh);
        await fresh.SweepToEndAsync();
        // From now on the log says that a breach without flags is hidden.
        Assert.True((await JournalManifest.FindAsync(fresh.Log, folders[2], None))!.Document is { IsReported: true, Hidden: true });

        // After the repair the load is recovered; nothing else is repeated.
        Assert.True(await fresh.Log.WriteAsync(segment, saved, None));
        await fresh.Log.DeleteAsync("0000000077-0123456789abcdef/load.json", None);
        await fresh.Log.DeleteAsync(JournalNames.Document(folders[1], 900), None);
        await fresh.Get<RemoveBreach>().RunAsync("Adobe", null, None);
        moved = await fresh.ReconcileAsync();
        Assert.Empty(moved.Log!.Problems);
        Assert.Equal([1L], moved.Log.Loads.Select(load => load.Load));
        await raw.AssertShowsAsync("repaired", "Adobe", "Dust", "Elk");
    }

    [Fact]
    public async Task Journal_of_another_store_is_refused_before_anything_is_created()
    {
        var logConnection = await AzuriteFixture.NewAccountAsync();
        await using var rig = await StartAsync(logConnection);
        await LoadAsync(rig, "Adobe.zip", 0);
        await using var another = await StartAsync();
        await LoadAsync(another, "Bold.zip", 0);
        // One store's tables with another's log.
        await another.LoseDatabaseAsync();
        var crossed = another.OpenContext() with { Log = rig.Context.Log };
        await Assert.ThrowsAsync<StoreMismatchException>(() => crossed.ReconcileAsync(empty: true));
        Assert.False((await another.Context.Register.GetConfirmedAsync(None)).MovingOn);
        // Two stores in one log.
        var document = (await JournalManifest.ReadAsync(rig.Context.Log, None)).Loads[0];
        var foreign = document.Document! with { Store = Guid.NewGuid(), Load = 9 };
        await rig.Context.Log.WriteAsync(JournalNames.Folder(foreign) + JournalNames.Load, foreign.ToJson(), None);
        await using var fresh = await NewAsync(logConnection);
        await Assert.ThrowsAsync<StoreMismatchException>(() => fresh.Context.ReconcileAsync(empty: true));
        Assert.False(File.Exists(fresh.DatabaseFile));
        // No log at all.
        await using var nothing = await NewAsync();
        await Assert.ThrowsAsync<NotPossibleException>(() => nothing.Context.ReconcileAsync(empty: true));
        Assert.False(File.Exists(nothing.DatabaseFile));
    }

    /// <summary>Makes every kind of change to a breach, with a backup after each. Nothing is open at the end.</summary>
    private static async Task<IReadOnlyList<string>> MakeChangesAsync(PipelineRig rig)
    {
        var backups = new List<string>();
        await rig.Context.Database.ImportSubscribersAsync([.. Subscriptions()], null, None);
        await StepAsync(() => LoadAsync(rig, "Adobe.zip", 0, """{"Title":"Adobe Systems","IsVerified":true}"""));
        await StepAsync(() => LoadAsync(rig, "Clinic.zip", 20, """{"IsSensitive":true}"""));
        await StepAsync(() => LoadAsync(rig, "Shop.zip", 40));
        await StepAsync(() => LoadAsync(rig, "Forum.zip", 60));
        await StepAsync(() => LoadAsync(rig, "Game.zip", 80));
        await StepAsync(() => LoadAsync(rig, "Old.zip", 100));
        await StepAsync(() => LoadAsync(rig, "Held.zip", 120, """{"Notify":"hold"}"""));
        await StepAsync(() => LoadAsync(rig, "Purged.zip", 140));
        await StepAsync(() => rig.Context.Get<BreachOperations>().SetHiddenAsync("Shop", true, None));
        await StepAsync(() => rig.Context.Get<BreachOperations>().DescribeAsync(
            "Forum", Encoding.UTF8.GetBytes("""{"Title":"The Forum","IsSpamList":true}"""), None));
        await StepAsync(() => LoadAsync(rig, "Game.zip", 300));
        await StepAsync(() => LoadAsync(rig, "Forum.2.zip", 320));
        await StepAsync(() => rig.Context.Get<RemoveBreach>().RunAsync("Old", null, None));
        await StepAsync(() => LoadAsync(rig, "Old.zip", 340)); // uploaded again
        await StepAsync(() => rig.Context.Get<PurgeLoad>().RunAsync(new(8), withoutJournal: false, null, None));
        await StepAsync(async () =>
        {
            // Assigned to another breach; its zip was half processed at a backup.
            await rig.DropAccountsAsync("Wrong.zip", 360, Rows);
            await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
            await PipelineRig.PumpOnceAsync(rig.Context);
            backups.Add(await rig.BackUpAsync("half-way"));
            await rig.RunToEndAsync();
            backups.Add(await rig.BackUpAsync("wrong"));
            await rig.Context.Get<AssignLoad>().RunAsync((await rig.LoadsAsync())[^1].Id, "Right", None);
        });
        return backups;

        async Task StepAsync(Func<Task> step)
        {
            await step();
            await rig.RunToEndAsync();
            backups.Add(await rig.BackUpAsync($"{backups.Count + 1}"));
        }
    }

    /// <summary>Returns what readers see: the catalogue's documents verbatim, and accounts by their marks in the table.</summary>
    private static async Task<(string Catalogue, string Lookups)> StateAsync(PipelineRig rig)
    {
        var raw = new RawCatalogue(rig.Context.Catalogue);
        using var ids = JsonDocument.Parse((await raw.ReadAsync(CatalogueDocuments.Ids))!);
        var names = new Dictionary<string, string>();
        foreach (var breach in ids.RootElement.GetProperty("Breaches").EnumerateArray())
        {
            foreach (var mark in breach.GetProperty("Marks").EnumerateArray())
                names.Add($"b{mark.GetInt32()}", $"{breach.GetProperty("Name").GetString()}:{breach.GetProperty("Flags").GetInt32()}");
        }
        var lookups = (await rig.TableAsync())
            .Select(account => (account.Key, Found: account.Value.Where(names.ContainsKey).Select(mark => names[mark]).Order().ToList()))
            .Where(account => account.Found.Count > 0)
            .Select(account => $"{account.Key} {string.Join(' ', account.Found)}").Order(StringComparer.Ordinal);
        return ((await raw.ReadAsync(CatalogueDocuments.Breaches))!, string.Join('\n', lookups));
    }

    private static async Task AssertRestoredAsync(PipelineRig rig, PipelineParts restored, (string Catalogue, string Lookups) truth)
    {
        await restored.Get<StoreSetup>().EnsureAsync(None);
        await PipelineRig.RunToEndAsync(restored);
        await restored.SweepToEndAsync();
        var state = await StateAsync(rig);
        Assert.Equal(truth.Catalogue, state.Catalogue);
        Assert.Equal(truth.Lookups, state.Lookups);
        Assert.All(await restored.Database.ListLoadsAsync(null, None), load =>
        {
            Assert.True(load.State is LoadState.Done or LoadState.Held, $"{load.Id} of {load.Breach}: {load.State}, {load.Error}");
            Assert.False(load.AwaitsJournal, $"{load.Id} of {load.Breach}");
        });
    }

    /// <summary>Returns what tables are built from: each log folder that counts, with its metadata.</summary>
    private static async Task<List<string>> CountingAsync(PipelineRig rig) =>
        [.. (await JournalManifest.ReadAsync(rig.Context.Log, None)).Loads.Where(load => load.State != JournaledState.Begun)
            .Select(load => $"{load.Folder} {load.State} {load.Document?.Breach} {load.Document?.Hidden} {load.Document?.Metadata}")];

    /// <summary>Sends a message for every zip, as a fresh function app does.</summary>
    private static async Task FireAgainAsync(PipelineParts context)
    {
        await foreach (var (name, etag) in context.Blobs.ListDropsAsync(None).Select(blob => blob.Version))
            await context.Queues.SendAsync(new IngestMessage { Blob = name, ETag = etag }, TimeSpan.Zero, None);
    }

    /// <summary>Removes every trace of a breach, except its zip, from the log and elsewhere.</summary>
    private static async Task RemoveAsync(PipelineRig rig, string breach)
    {
        var log = rig.OpenContext().Log;
        foreach (var load in (await JournalManifest.ReadAsync(log, None)).Loads.Where(load => load.Document?.Breach == breach))
        {
            foreach (var blob in load.Blobs)
                await log.DeleteAsync(blob.Name, None);
        }
    }

    /// <summary>Returns one account of each zip, and one domain.</summary>
    private static IEnumerable<Subscription> Subscriptions() =>
        ((int[])[0, 21, 42, 63, 81, 102, 123, 141, 300, 321, 342, 361, 2_001, 3_000])
            .Select(i => new Subscription(PipelineRig.Expected(i, 1).Single(), null))
            .Append(new Subscription("boss@example.net", "d1.example.org"));

    private static Task LoadAsync(PipelineRig rig, string zip, int first, string? metadata = null) =>
        rig.LoadAccountsAsync(zip, first, Rows, metadata);

    private static async Task<PipelineRig> StartAsync(string? logConnection = null)
    {
        var rig = await NewAsync(logConnection);
        await rig.Context.Get<StoreSetup>().EnsureAsync(None);
        return rig;
    }

    private static Task<PipelineRig> NewAsync(string? logConnection = null) => PipelineRig.NewAsync(
        options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.SegmentBatches, options.Journal.Mode,
            options.Upsert.Ranges) = (BatchRows, 15, 1, JournalMode.On, RangesMode.On),
        logConnection: logConnection);
}
