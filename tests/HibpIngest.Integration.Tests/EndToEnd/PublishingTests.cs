using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Sweeping;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests when readers see a load, and what determines its breach.</summary>
public sealed class PublishingTests
{
    private static readonly CancellationToken None = CancellationToken.None;

    private static readonly Action<TestOptions> Small = options => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (200, 100);

    [Fact]
    public async Task Second_load_becomes_visible_all_at_once_when_it_is_complete()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("X.zip", Zip(0, 100));
        await rig.RunToEndAsync();
        await rig.DropAsync("X.2.zip", Zip(1_000, 300));
        await rig.Context.Get<DroppedBreaches>().IngestAsync("X.2.zip", None);
        var dispatcher = rig.Context.Get<MessageDispatcher>();
        var slices = rig.Context.Queues.Get(QueueNames.Slices);
        foreach (var message in await slices.ReceiveAsync(32, TimeSpan.FromMinutes(10), None))
        {
            Assert.Empty(await FindAsync(rig, 1_000));
            await dispatcher.DispatchAsync(QueueNames.Slices, message.Body, None);
            await slices.DeleteAsync(message, None);
        }
        Assert.Equal(400, (await rig.TableAsync()).Count);
        Assert.Empty(await FindAsync(rig, 1_000));
        Assert.Equal(["X"], await FindAsync(rig, 0));
        await rig.RunToEndAsync();
        Assert.Equal(["X"], await FindAsync(rig, 1_299));
        Assert.Equal(["X"], await FindAsync(rig, 0));
    }

    [Fact]
    public async Task New_version_of_a_zip_replaces_the_old_one_in_one_step()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("X.zip", Zip(0, 100));
        await rig.RunToEndAsync();
        await rig.DropAsync("X.zip", Zip(50, 100));
        await rig.RunToEndAsync();
        // An account that was only in the replaced version is not found, though its property still exists.
        Assert.Empty(await FindAsync(rig, 0));
        Assert.Equal(["X"], await FindAsync(rig, 50));
        Assert.Equal(["X"], await FindAsync(rig, 149));
        Assert.Equal(["b1"], (await rig.TableAsync())["user0@example.com"]);
        var loads = await rig.LoadsAsync();
        Assert.Equal([2L, null], loads.Select(load => load.ReplacedBy?.Value));
        Assert.Equal([2], (await rig.Context.Database.GetBreachAsync("X", None))!.Marks);
    }

    [Fact]
    public async Task Failed_load_is_never_visible()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        var zip = Zip(0, 1_000);
        zip[^2_000..].AsSpan().Clear();
        Array.Fill<byte>(zip, 0xFF, zip.Length / 2, 200);
        await rig.DropAsync("X.zip", zip);
        await rig.RunToEndAsync();
        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal(LoadState.Failed, load.State);
        Assert.Empty(await FindAsync(rig, 0));
        Assert.Null(load.PublishedAt);
    }

    [Fact]
    public async Task Restored_database_is_refused_until_reconciled_then_reuses_no_mark_and_resends_no_mail()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null), ("user501@example.com", null), ("user1002@example.com", null));
        await rig.DropAsync("First.zip", Zip(0, 100));
        await rig.RunToEndAsync();
        var backup = rig.DatabaseFile + ".backup";
        await BackUpAsync(rig.DatabaseFile, backup);
        await rig.DropAsync("ClinicPatients.zip", Zip(500, 100));
        await rig.RunToEndAsync();
        Assert.Equal(2, rig.Mails().Count);

        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext();
        var refused = await Assert.ThrowsAsync<StoreMismatchException>(() => restored.Get<StoreSetup>().EnsureAsync(None));
        Assert.Contains("hibp database restored", refused.Message, StringComparison.Ordinal);
        // Commands that don't set up stores are refused too.
        await Assert.ThrowsAsync<StoreMismatchException>(() => restored.Get<StoreSetup>().CheckAsync(None));
        // A host that is running meanwhile stops as well, before it sends anything.
        await rig.Context.Register.MarkOpenAsync(new(1), None);
        await Assert.ThrowsAsync<StoreMismatchException>(() => restored.Get<Sweep>().RunAsync(None));

        var (ids, started) = await restored.Get<ReconcileRestoredDatabase>().RunAsync(None);
        Assert.Equal((2L, 2, 1), (ids.Load, ids.Mark, started));
        await restored.Get<StoreSetup>().EnsureAsync(None);
        await rig.DropAsync("ShoeShop.zip", Zip(1_000, 100));
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
        await Assert.ThrowsAsync<NotPossibleException>(() => restored.Get<ReconcileRestoredDatabase>().RunAsync(None));
    }

    [Fact]
    public async Task Reconcile_holds_mails_that_were_in_progress_at_the_backup()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null));
        await rig.DropAsync("First.zip", Zip(0, 10));
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
        var dispatcher = rig.Context.Get<MessageDispatcher>();
        while ((await rig.LoadsAsync()).Count == 0 || (await rig.LoadAsync(1)).State != LoadState.Notifying)
        {
            foreach (var name in QueueNames.All.Where(name => name != QueueNames.Mail))
            {
                var queue = rig.Context.Queues.Get(name);
                foreach (var message in await queue.ReceiveAsync(1, TimeSpan.FromMinutes(10), None))
                {
                    await dispatcher.DispatchAsync(name, message.Body, None);
                    await queue.DeleteAsync(message, None);
                }
            }
        }
        var backup = rig.DatabaseFile + ".backup";
        await BackUpAsync(rig.DatabaseFile, backup);
        await rig.RunToEndAsync();
        Assert.Single(rig.Mails());
        await rig.DropAsync("Second.zip", Zip(20, 10));
        await rig.RunToEndAsync();

        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext();
        await restored.Get<ReconcileRestoredDatabase>().RunAsync(None);
        Directory.Delete(rig.MailFolder, recursive: true);
        await PipelineRig.RunToEndAsync(restored);
        Assert.Empty(rig.Mails());
        Assert.Equal(LoadState.Held, (await restored.Database.GetLoadAsync(new(1), None))!.State);
    }

    [Theory]
    [InlineData("poison")]
    [InlineData("lost")]
    public async Task Scan_restarts_a_zip_whose_message_was_lost_before_its_load_began(string _)
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.DropAsync("X.zip", Zip(0, 100));
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
        await rig.DropAsync("Old.zip", Zip(0, 100));
        await rig.DropAsync("First.zip", Zip(200, 100));
        await rig.RunToEndAsync();
        await rig.Context.Get<RemoveBreach>().RunAsync("Old", null, None);
        var backup = rig.DatabaseFile + ".backup";
        await BackUpAsync(rig.DatabaseFile, backup);
        await rig.DropAsync("Since.zip", Zip(500, 100));
        await rig.RunToEndAsync();

        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext();
        Assert.Equal(1, (await restored.Get<ReconcileRestoredDatabase>().RunAsync(None)).Loads);
        await PipelineRig.RunToEndAsync(restored);
        Assert.Equal(["First", "Since"], (await restored.Database.ListLoadsAsync(null, None)).Select(load => load.Breach));
        Assert.Empty(await FindAsync(rig, 0));
    }

    [Fact]
    public async Task Interrupted_reconcile_is_refused_by_hosts_and_completed_by_the_next_one()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("First.zip", Zip(0, 100));
        await rig.RunToEndAsync();
        var backup = rig.DatabaseFile + ".backup";
        await BackUpAsync(rig.DatabaseFile, backup);
        // Loads that never got a mark: only load ids were drawn since the backup.
        await rig.DropAsync("A.zip", Encoding.ASCII.GetBytes("no zip"));
        await rig.DropAsync("B.zip", Encoding.ASCII.GetBytes("no zip either"));
        await rig.RunToEndAsync();

        await rig.RestoreAsync(backup);
        var restored = rig.OpenContext();
        var calls = 0;
        var dying = new HookedPorts((_, what) => what == nameof(ILoads.StartLoadAsync) && ++calls == 2
            ? throw new CrashException() : Task.CompletedTask).Wrap(restored);
        await Assert.ThrowsAsync<CrashException>(() => dying.Get<ReconcileRestoredDatabase>().RunAsync(None));
        var refused = await Assert.ThrowsAsync<StoreMismatchException>(() => restored.Get<StoreSetup>().EnsureAsync(None));
        Assert.Contains("hibp database restored", refused.Message, StringComparison.Ordinal);

        Assert.Equal(1, (await restored.Get<ReconcileRestoredDatabase>().RunAsync(None)).Loads);
        await restored.Get<StoreSetup>().EnsureAsync(None);
        Assert.Equal(["First", "A", "B"], (await restored.Database.ListLoadsAsync(null, None)).Select(load => load.Breach));
        await Assert.ThrowsAsync<NotPossibleException>(() => restored.Get<ReconcileRestoredDatabase>().RunAsync(None));
    }

    [Fact]
    public async Task Metadata_next_to_a_zip_applies_only_when_its_load_is_published()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("X.zip", Zip(0, 100), """{"Title":"X"}""");
        await rig.RunToEndAsync();
        // A failed load removes nothing from lookups.
        await rig.DropAsync("X.2.zip", Encoding.ASCII.GetBytes("no zip"), """{"IsRetired":true,"Title":"Another"}""");
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Failed, (await rig.LoadAsync(2)).State);
        var breach = (await rig.Context.Database.GetBreachAsync("X", None))!;
        Assert.Equal((BreachFlags.None, "X"), (breach.Metadata.Flags, breach.Metadata.Title));
        Assert.Equal(["X"], await FindAsync(rig, 0));

        await rig.DropAsync("X.3.zip", Zip(200, 100), """{"Title":"Another"}""");
        await rig.RunToEndAsync();
        Assert.Equal("Another", (await rig.Context.Database.GetBreachAsync("X", None))!.Metadata.Title);
    }

    [Fact]
    public async Task Metadata_that_names_another_breach_holds_the_load_until_an_operator_assigns_it()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null), ("user201@example.com", null));
        await rig.DropAsync("Secret.zip", Zip(0, 100), """{"IsSensitive":true,"Title":"Secret"}""");
        await rig.RunToEndAsync();
        Assert.Single(rig.Mails());

        await rig.DropAsync("dump.zip", Zip(200, 100), """{"Name":"Secret","IsSensitive":false,"Title":"Ours"}""");
        await rig.RunToEndAsync();
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
        await rig.DropAsync("X.zip", Zip(0, 100), """{"Title":"X"}""");
        await rig.RunToEndAsync();
        await rig.DropAsync("X.2.zip", Zip(200, 100));
        // Between the load's read and its write of the breach.
        var flagged = rig.Context with
        {
            Blobs = new HookedBlobs(rig.Context.Blobs, () =>
                rig.Context.Database.MergeMetadataAsync("X", Encoding.UTF8.GetBytes("""{"IsSensitive":true}"""), byOperator: true, None)),
        };
        await PipelineRig.RunToEndAsync(flagged);
        Assert.Equal(
            (BreachFlags.Sensitive, "X"), await rig.Context.Database.GetBreachAsync("X", None) is { } breach
            ? (breach.Metadata.Flags, breach.Metadata.Title) : default);
        Assert.Empty(await FindAsync(rig, 0));
    }

    [Fact]
    public async Task Password_of_a_new_version_outlives_the_old_one_and_is_deleted_with_its_own_load()
    {
        var key = Convert.ToBase64String(Enumerable.Range(0, 32).Select(i => (byte)i).ToArray());
        await using var rig = await PipelineRig.StartAsync(Small, secretKey: key);
        var passwords = rig.Context.Passwords;
        var old = await rig.DropAsync("X.zip", Zip(0, 100));
        await rig.Context.Passwords.PutAsync(old, "old", None);
        BlobVersion? version = null;
        // The next version is uploaded while the old one is being read.
        var dropping = rig.Context with
        {
            Blobs = new HookedBlobs(rig.Context.Blobs, async () =>
            {
                await passwords.KeepAsync(ArchivePasswords.Coming("X.zip"), "new", None);
                version = await rig.DropAsync("X.zip", Zip(0, 10));
            }),
        };
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

    private static byte[] Zip(int first, int count) => PipelineRig.Zip(("a.csv", PipelineRig.Accounts(first, count)));

    private static async Task<string[]> FindAsync(PipelineRig rig, int account) =>
        [.. (await rig.FindAsync(Assert.Single(PipelineRig.Expected(account, 1)))).Select(breach => breach.Name)];

    /// <summary>Backs up with SQLite's own backup, as an operator would.</summary>
    private static async Task BackUpAsync(string file, string backup)
    {
        await using var connection = new Microsoft.Data.Sqlite.SqliteConnection($"Data Source={file};Pooling=False");
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = $"VACUUM INTO '{backup}'";
        await command.ExecuteNonQueryAsync();
    }
}
