using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests when readers see a load, and what determines its breach.</summary>
public sealed class PublishingTests
{
    private static readonly Action<TestOptions> Small = options => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (200, 100);

    [Fact]
    public async Task Second_load_becomes_visible_all_at_once_when_it_is_complete()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.LoadAccountsAsync("X.zip", 0, 100);
        await rig.DropAccountsAsync("X.2.zip", 1_000, 300);
        await rig.Context.Get<DroppedBreaches>().IngestAsync("X.2.zip", None);
        for (var slice = 1; slice <= 3; slice++)
        {
            Assert.Empty(await FindAsync(rig, 1_000));
            await rig.Context.HandleMessagesAsync(QueueNames.Slices, limit: 1);
        }
        Assert.Equal(400, (await rig.TableAsync()).Count);
        Assert.Empty(await FindAsync(rig, 1_000));
        Assert.Equal(["X"], await FindAsync(rig, 0));
        await rig.RunToEndAsync();
        Assert.Equal(["X"], await FindAsync(rig, 1_299));
        Assert.Equal(["X"], await FindAsync(rig, 0));
    }

    [Fact]
    public async Task Restored_database_is_refused_until_reconciled_then_reuses_no_mark_and_resends_no_mail()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null), ("user501@example.com", null), ("user1002@example.com", null));
        await rig.LoadAccountsAsync("First.zip", 0, 100);
        var backup = await rig.BackUpAsync("before");
        await rig.LoadAccountsAsync("ClinicPatients.zip", 500, 100);
        Assert.Equal(2, rig.Mails().Count);

        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext();
        var refused = await Assert.ThrowsAsync<StoreMismatchException>(() => restored.Get<StoreSetup>().EnsureAsync(None));
        Assert.Contains("hibp database restored", refused.Message, StringComparison.Ordinal);
        // Commands that don't set up stores are refused too.
        await Assert.ThrowsAsync<StoreMismatchException>(() => restored.Get<StoreSetup>().CheckAsync(None));
        // A host that is running meanwhile stops as well, before it sends anything.
        await rig.Context.Register.MarkOpenAsync(new(1), None);
        await Assert.ThrowsAsync<StoreMismatchException>(restored.SweepAsync);

        var (ids, started) = await restored.ReconcileAsync();
        Assert.Equal((2L, 2, 1), (ids.Load, ids.Mark, started));
        await restored.Get<StoreSetup>().EnsureAsync(None);
        await rig.DropAccountsAsync("ShoeShop.zip", 1_000, 100);
        await PipelineRig.RunToEndAsync(restored);

        Assert.Equal(["First"], await FindAsync(rig, 0));
        Assert.Empty(await FindAsync(rig, 501));
        Assert.Equal(["ShoeShop"], await FindAsync(rig, 1_002));
        var loads = await restored.Database.ListLoadsAsync(null, None);
        Assert.Equal(
            [("First", LoadState.Done), ("ClinicPatients", LoadState.Held), ("ShoeShop", LoadState.Done)],
            loads.Select(load => (load.Breach, load.State)));
        Assert.Equal([1, 3, 4], loads.Select(load => load.Mark));
        Assert.Contains("restored", loads[1].HeldBecause, StringComparison.Ordinal);
        // No second mail to the clinic's patient.
        Assert.Equal(["user0@example.com", "user1002@example.com", "user501@example.com"], rig.Recipients());
        await Assert.ThrowsAsync<NotPossibleException>(() => restored.ReconcileAsync());
    }

    [Fact]
    public async Task Scan_restarts_a_zip_whose_message_was_lost_before_its_load_began()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.DropAccountsAsync("X.zip", 0, 100);
        var scan = rig.Context.Get<BlobScan>();
        Assert.Equal(1, await scan.RunAsync(TimeSpan.Zero, None));
        Assert.Equal(0, await scan.RunAsync(TimeSpan.Zero, None));
        // The message failed five times before the load's row existed and was then purged, or it was lost.
        await rig.Context.Queues.Get(QueueNames.Ingest).ClearAsync(None);
        clock.Advance(TimeSpan.FromMinutes(11));
        Assert.Equal(1, await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None));
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        clock.Advance(TimeSpan.FromMinutes(11));
        Assert.Equal(0, await scan.RunAsync(TimeSpan.Zero, None));
    }

    [Fact]
    public async Task Zip_of_a_breach_removed_before_the_backup_is_not_reloaded()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAccountsAsync("Old.zip", 0, 100);
        await rig.LoadAccountsAsync("First.zip", 200, 100);
        await rig.Context.Get<RemoveBreach>().RunAsync("Old", null, None);
        var backup = await rig.BackUpAsync("before");
        await rig.LoadAccountsAsync("Since.zip", 500, 100);

        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext();
        Assert.Equal(1, (await restored.ReconcileAsync()).Loads);
        await PipelineRig.RunToEndAsync(restored);
        Assert.Equal(["First", "Since"], (await restored.Database.ListLoadsAsync(null, None)).Select(load => load.Breach));
        Assert.Empty(await FindAsync(rig, 0));
    }

    [Fact]
    public async Task Interrupted_reconcile_is_refused_by_hosts_and_completed_by_the_next_one()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.LoadAccountsAsync("First.zip", 0, 100);
        var backup = await rig.BackUpAsync("before");
        // Loads that never got a mark: only load ids were drawn since the backup.
        await rig.DropAsync("A.zip", Encoding.ASCII.GetBytes("no zip"));
        await rig.DropAsync("B.zip", Encoding.ASCII.GetBytes("no zip either"));
        await rig.RunToEndAsync();

        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext();
        var calls = 0;
        var dying = new HookedPorts((_, what) => what == nameof(ILoads.StartLoadAsync) && ++calls == 2
            ? throw new CrashException() : Task.CompletedTask).Wrap(restored);
        await Assert.ThrowsAsync<CrashException>(() => dying.ReconcileAsync());
        await Refusal.AssertAsync<StoreMismatchException>("hibp database restored", () => restored.Get<StoreSetup>().EnsureAsync(None));

        Assert.Equal(1, (await restored.ReconcileAsync()).Loads);
        await restored.Get<StoreSetup>().EnsureAsync(None);
        Assert.Equal(["First", "A", "B"], (await restored.Database.ListLoadsAsync(null, None)).Select(load => load.Breach));
        await Assert.ThrowsAsync<NotPossibleException>(() => restored.ReconcileAsync());
    }

    [Fact]
    public async Task Metadata_next_to_a_zip_applies_only_when_its_load_is_published()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.LoadAccountsAsync("X.zip", 0, 100, """{"Title":"X"}""");
        // A failed load removes nothing from lookups.
        await rig.DropAsync("X.2.zip", Encoding.ASCII.GetBytes("no zip"), """{"IsRetired":true,"Title":"Another"}""");
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Failed, (await rig.LoadAsync(2)).State);
        var breach = (await rig.Context.Database.GetBreachAsync("X", None))!;
        Assert.Equal((BreachFlags.None, "X"), (breach.Metadata.Flags, breach.Metadata.Title));
        Assert.Equal(["X"], await FindAsync(rig, 0));

        await rig.LoadAccountsAsync("X.3.zip", 200, 100, """{"Title":"Another"}""");
        Assert.Equal("Another", (await rig.Context.Database.GetBreachAsync("X", None))!.Metadata.Title);
    }

    [Fact]
    public async Task Metadata_that_names_another_breach_holds_the_load_until_an_operator_assigns_it()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null), ("user201@example.com", null));
        await rig.LoadAccountsAsync("Secret.zip", 0, 100, """{"IsSensitive":true,"Title":"Secret"}""");
        Assert.Single(rig.Mails());

        await rig.LoadAccountsAsync("dump.zip", 200, 100, """{"Name":"Secret","IsSensitive":false,"Title":"Ours"}""");
        var held = (await rig.LoadsAsync())[1];
        Assert.Equal((LoadState.Held, "dump"), (held.State, held.Breach));
        Assert.Contains("hibp breach assign 2 'Secret'", held.HeldBecause, StringComparison.Ordinal);
        var secret = (await rig.Context.Database.GetBreachAsync("Secret", None))!;
        Assert.Equal((BreachFlags.Sensitive, "Secret"), (secret.Metadata.Flags, secret.Metadata.Title));
        Assert.Null((await rig.Context.Database.GetBreachAsync("dump", None))!.Metadata.Title);
        Assert.Single(rig.Mails());

        Assert.Equal("Secret", (await rig.Context.Get<AssignLoad>().RunAsync(new(2), "secret", None)).Breach);
        secret = (await rig.Context.Database.GetBreachAsync("Secret", None))!;
        Assert.Equal([1, 2], secret.Marks);
        Assert.Equal((BreachFlags.Sensitive, "Ours"), (secret.Metadata.Flags, secret.Metadata.Title));
        Assert.Null(await rig.Context.Database.GetBreachAsync("dump", None));
        Assert.Equal(1, await rig.Context.Get<MailOperations>().NotifyAsync("Secret", None));
        await rig.RunToEndAsync();
        Assert.Equal(["user0@example.com", "user201@example.com"], rig.Recipients());
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(2)).State);
    }

    [Fact]
    public async Task Metadata_written_by_an_operator_while_a_load_begins_is_not_lost()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.LoadAccountsAsync("X.zip", 0, 100, """{"Title":"X"}""");
        await rig.DropAccountsAsync("X.2.zip", 200, 100);
        // Between the load's read and its write of the breach.
        var flagged = rig.Context.WithBlobs(() =>
            rig.Context.Database.MergeMetadataAsync("X", """{"IsSensitive":true}"""u8.ToArray(), byOperator: true, None));
        await PipelineRig.RunToEndAsync(flagged);
        var metadata = (await rig.Context.Database.GetBreachAsync("X", None))!.Metadata;
        Assert.Equal((BreachFlags.Sensitive, "X"), (metadata.Flags, metadata.Title));
        Assert.Empty(await FindAsync(rig, 0));
    }

    [Fact]
    public async Task Password_of_a_new_version_outlives_the_old_one_and_is_deleted_with_its_own_load()
    {
        var key = Convert.ToBase64String(Enumerable.Range(0, 32).Select(i => (byte)i).ToArray());
        await using var rig = await PipelineRig.StartAsync(Small, secretKey: key);
        var passwords = rig.Context.Passwords;
        var old = await rig.DropAccountsAsync("X.zip", 0, 100);
        await rig.Context.Passwords.PutAsync(old, "old", None);
        BlobVersion? version = null;
        // The next version is uploaded while the old one is being read.
        var dropping = rig.Context.WithBlobs(async () =>
        {
            await passwords.KeepAsync(ArchivePasswords.Coming("X.zip"), "new", None);
            version = await rig.DropAccountsAsync("X.zip", 0, 10);
        });
        await dropping.Get<DroppedBreaches>().IngestAsync("X.zip", None);
        Assert.True((await rig.LoadAsync(1)).Superseded);
        Assert.Null(await rig.Context.Database.GetPasswordAsync(old, None));
        Assert.NotNull(version);
        Assert.Equal("new", await rig.Context.Passwords.GetAsync(version, None));
        await passwords.SettleAsync(version, "new", None);
        Assert.Null(await rig.Context.Database.GetPasswordAsync(ArchivePasswords.Coming("X.zip"), None));
        await rig.RunToEndAsync(); // the old version's load fails as superseded, or completes
        Assert.Null(await rig.Context.Database.GetPasswordAsync(version, None));

        // A failed load deletes its password.
        var broken = await rig.DropAsync("Broken.zip", "no zip at all"u8.ToArray());
        await rig.Context.Passwords.PutAsync(broken, "hers", None);
        await rig.RunToEndAsync();
        Assert.Null(await rig.Context.Database.GetPasswordAsync(broken, None));
    }

    private static async Task<string[]> FindAsync(PipelineRig rig, int account) =>
        [.. (await rig.FindAsync(Assert.Single(PipelineRig.Expected(account, 1)))).Select(breach => breach.Name)];
}
