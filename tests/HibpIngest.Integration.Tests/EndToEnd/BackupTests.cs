using HibpIngest.Cli.Backups;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Setup;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests restoring a backup: no mail is sent twice, no mark changes its meaning, and an incomplete backup is refused.</summary>
public sealed class BackupTests : IDisposable
{
    private static readonly IProgress<long> NoProgress = new Progress<long>();

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Restore_holds_mails_that_were_sent_after_the_backup()
    {
        await using var rig = await StartAsync();
        await DropAsync(rig, """{"Notify":"hold"}""");
        Assert.Equal(LoadState.Held, Assert.Single(await rig.LoadsAsync()).State);
        // Released, but not sent yet.
        Assert.Equal(1, await rig.Context.Get<MailOperations>().NotifyAsync("Adobe", None));
        Assert.Equal(LoadState.Notifying, Assert.Single(await rig.LoadsAsync()).State);
        var (file, note) = await BackUpAsync(rig);
        await rig.RunToEndAsync();
        Assert.Equal(["user1@d1.example.org"], rig.Recipients());
        var confirmed = await rig.Context.Register.GetConfirmedAsync(None);
        Assert.Equal((confirmed.Ids, confirmed.Ids), (note.Highest, note.Confirmed));

        Directory.Delete(rig.MailFolder, recursive: true);
        var restored = await RestoreAsync(rig, file, note);
        await restored.SweepToEndAsync();
        Assert.Empty(rig.Mails());
        var load = Assert.Single(await restored.Database.ListLoadsAsync(null, None));
        Assert.Equal((LoadState.Held, 1), (load.State, load.Notifications.Open));
        Assert.Contains("restored from a backup", load.HeldBecause, StringComparison.Ordinal);
        Assert.Equal(confirmed, await restored.Register.GetConfirmedAsync(None));

        // A later breach's mail has an id that was never used.
        await rig.DropAccountsAsync("Bold.zip", 0, 130);
        await PipelineRig.RunToEndAsync(restored);
        // Far above the earlier ids, because ids continue from the clock.
        var id = Path.GetFileNameWithoutExtension(Assert.Single(rig.Mails()).File);
        Assert.True(long.Parse(id, CultureInfo.InvariantCulture) > note.TakenAt.ToUnixTimeMilliseconds(), id);
    }

    [Fact]
    public async Task Restore_refuses_a_bad_backup_or_a_database_in_use_and_changes_nothing()
    {
        await using var rig = await StartAsync();
        await DropAsync(rig);
        var (file, note) = await BackUpAsync(rig);
        var noteFile = BackupNote.PathOf(file);
        Assert.Equal([file, noteFile], Directory.GetFiles(_folder.Path).Order());
        if (!OperatingSystem.IsWindows())
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file));
        Assert.Equal((note, file), await BackupNote.FindAsync(_folder.Path, None));
        await Assert.ThrowsAsync<NotPossibleException>(() => BackUpAsync(rig, file));

        // A stopped backup leaves no file.
        using (var stop = new CancellationTokenSource())
        {
            await stop.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(
                () => new DatabaseBackup(rig.Context.Database, rig.Context.Register, rig.Time).BackUpAsync(
                    Path.Combine(_folder.Path, "stopped.db"), NoProgress, stop.Token));
            Assert.Equal([file, noteFile], Directory.GetFiles(_folder.Path).Order());
        }

        // A host is running.
        var heartbeat = new Heartbeat("h", "machine", 7, Heartbeat.Everything, "1", rig.Time.GetUtcNow(), rig.Time.GetUtcNow(), []);
        rig.Context.Register.PutHeartbeat(heartbeat, None);
        Assert.Contains("a host is running on machine (process 7", await RefusedAsync(), StringComparison.Ordinal);
        rig.Context.Register.PutHeartbeat(heartbeat with { SeenAt = rig.Time.GetUtcNow() - TimeSpan.FromHours(1) }, None);
        // The database is open in this process.
        Assert.Contains("is in use by another process", await RefusedAsync(), StringComparison.Ordinal);
        await rig.CloseAsync();

        var before = await File.ReadAllBytesAsync(rig.DatabaseFile);
        var whole = await File.ReadAllBytesAsync(file);
        var changed = (byte[])whole.Clone();
        changed[^1] ^= 1;
        await File.WriteAllBytesAsync(file, changed);
        Assert.Contains("SHA-256", await RefusedAsync(), StringComparison.Ordinal);
        await File.WriteAllBytesAsync(file, whole[..^1]);
        Assert.Contains("it is incomplete", await RefusedAsync(), StringComparison.Ordinal);
        await File.WriteAllBytesAsync(file, whole);
        await EditAsync("store", $"\"{Guid.NewGuid()}\"");
        Assert.Contains("the account table to store", await RefusedAsync(), StringComparison.Ordinal);
        await EditAsync("format", "2");
        Assert.Contains("is of format 2", await RefusedAsync(), StringComparison.Ordinal);
        File.Delete(noteFile);
        Assert.Contains("has no note", await RefusedAsync(), StringComparison.Ordinal);
        Assert.Equal(before, await File.ReadAllBytesAsync(rig.DatabaseFile));
        Assert.Equal(["hibp.db"], Directory.GetFiles(Path.GetDirectoryName(rig.DatabaseFile)!, "hibp.db*").Select(Path.GetFileName));
        Assert.False((await rig.OpenContext().Register.GetConfirmedAsync(None)).MovingOn);

        async Task<string> RefusedAsync() => (await Assert.ThrowsAnyAsync<HibpException>(async () =>
        {
            var (found, path) = await BackupNote.FindAsync(file, None);
            await using var database = SqliteBreachDatabase.Open(rig.DatabaseFile, rig.Time);
            using var restore = new DatabaseRestore(database, rig.Context.Register, new InstallationKeys(null, null), rig.Time);
            await restore.PrepareAsync(path, found, NoProgress, None);
        })).Message;

        async Task EditAsync(string property, string value)
        {
            var json = System.Text.Json.Nodes.JsonNode.Parse(JsonSerializer.Serialize(note, BackupJson.Default.BackupNote))!;
            json[property] = System.Text.Json.Nodes.JsonNode.Parse(value);
            await File.WriteAllTextAsync(noteFile, json.ToJsonString());
        }
    }

    [Fact]
    public async Task Restore_replaces_a_lost_or_damaged_database_and_keeps_the_damaged_files()
    {
        await using var rig = await StartAsync();
        await DropAsync(rig);
        var (file, note) = await BackUpAsync(rig);
        var (table, mails) = (await rig.TableAsync(), rig.Mails());
        await rig.CloseAsync();
        var folder = Path.GetDirectoryName(rig.DatabaseFile)!;
        await File.WriteAllTextAsync(rig.DatabaseFile, "no database at all, but something that somebody may want to look into\n");
        await File.WriteAllTextAsync(rig.DatabaseFile + "-wal", "its log");
        var restored = await RestoreAsync(rig, file, note);
        Assert.Equal(LoadState.Done, Assert.Single(await restored.Database.ListLoadsAsync(null, None)).State);
        var kept = Directory.GetFiles(folder, "hibp.db.before-restore-*").Order().ToList();
        Assert.Equal(2, kept.Count);
        Assert.EndsWith("Z-wal", kept[1], StringComparison.Ordinal);
        Assert.Equal("its log", await File.ReadAllTextAsync(kept[1]));
        await PipelineRig.RunToEndAsync(restored);
        Assert.Equal(mails, rig.Mails());
        Assert.Equal(table.Keys.Order(), (await rig.TableAsync()).Keys.Order());
        await rig.LoseDatabaseAsync();
        foreach (var left in kept)
            File.Delete(left);
        await RestoreAsync(rig, file, note);
        Assert.Empty(Directory.GetFiles(folder, "hibp.db.before-restore-*"));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Reconcile_holds_sent_mails_after_a_manual_restore(bool hasNewerLoad)
    {
        await using var rig = await StartAsync();
        await DropAsync(rig, """{"Notify":"hold"}""");
        await rig.Context.Get<MailOperations>().NotifyAsync("Adobe", None);
        var backup = await rig.BackUpAsync("other");
        await rig.RunToEndAsync();
        Assert.Single(rig.Mails());
        if (hasNewerLoad)
            await rig.LoadAccountsAsync("Bold.zip", 200, 10);
        await rig.RestoreAsync(backup);
        Directory.Delete(rig.MailFolder, recursive: true);
        var restored = rig.OpenContext();
        await restored.ReconcileAsync();
        await restored.SweepToEndAsync();
        Assert.Empty(rig.Mails());
        Assert.Equal(LoadState.Held, (await restored.Database.GetLoadAsync(new(1), None))!.State);
        await Assert.ThrowsAsync<NotPossibleException>(() => restored.ReconcileAsync());
    }

    private static async Task<PipelineParts> RestoreAsync(PipelineRig rig, string file, BackupNote note)
    {
        await rig.CloseAsync();
        var context = rig.OpenContext();
        using var restore = new DatabaseRestore(
            DatabaseBackup.RequireFile(context.Database), context.Register, new InstallationKeys(null, context.SuppressionKey), rig.Time);
        await restore.PrepareAsync(file, note, NoProgress, None);
        await restore.PutInPlaceAsync(None);
        // A host that starts in between refuses.
        await Assert.ThrowsAsync<StoreMismatchException>(() => rig.OpenContext().Get<StoreSetup>().EnsureAsync(None));
        await context.ReconcileAsync();
        return context;
    }

    private Task<(string File, BackupNote Note)> BackUpAsync(PipelineRig rig, string? to = null) =>
        new DatabaseBackup(rig.Context.Database, rig.Context.Register, rig.Time).BackUpAsync(to ?? _folder.Path, NoProgress, None);

    private static Task<PipelineRig> StartAsync() => PipelineRig.StartAsync(
        options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.Mode) = (100, 50, JournalMode.On));

    private static async Task DropAsync(PipelineRig rig, string? metadata = null)
    {
        await rig.ImportAsync(("user1@d1.example.org", null));
        await rig.LoadAccountsAsync("Adobe.zip", 0, 130, metadata);
    }
}
