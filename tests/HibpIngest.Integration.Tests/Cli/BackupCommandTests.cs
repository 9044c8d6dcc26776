namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the backup commands as an operator runs them, while a host runs.</summary>
public sealed class BackupCommandTests : CommandTestBase
{
    [Fact]
    public async Task Backup_taken_under_a_running_host_restores_without_repeating_mail()
    {
        var began = TimeProvider.System.GetUtcNow();
        var mail = In("mail");
        var subscribers = Folder.Write("subscribers.csv", "email,domain\nuser1@example.com,\nuser2@example.com,\n");
        await SucceedAsync("subscribers", "import", subscribers);
        await using (var host = await StartAsync("ready", "run"))
        {
            await SucceedAsync("drop", Zip("A.zip", "user1@example.com\n"), "--wait");
            var backup = await JsonAsync("backup", In("backups/"));
            Assert.Equal(1, backup.GetProperty("highest").Number("load"));
            Assert.Equal(
                [Path.GetFileName(backup.Text("file")), Path.GetFileName(backup.Text("note"))],
                Directory.GetFiles(In("backups")).Select(Path.GetFileName).Order());
            await SucceedAsync("drop", Zip("B.zip", "user2@example.com\n"), "--wait");
            await UntilPublishedAsync("B", "user2@example.com");
            await SucceedAsync("log", "write", "--load", "2"); // the host may have done it already
            Assert.Equal(2, Directory.GetFiles(mail, "*.eml").Length);
            (await RunAsync("restore", In("backups/"), "--yes")).FailedWith("a host is running on");
            Assert.Contains((await host.TerminateAsync()).ExitCode, (int[])[0, 143]);
        }
        var asked = await RunAsync("restore", In("backups/"));
        Assert.Equal(2, asked.ExitCode);
        Assert.Contains("add --yes", asked.Error, StringComparison.Ordinal);
        var before = await JsonAsync("lookup", "user2@example.com");
        (await RunAsync("restore", In("backups/"), "--dry-run")).Printed("Nothing was changed");

        Directory.Delete(mail, recursive: true);
        var restored = await JsonAsync("restore", In("backups/"), "--yes");
        Assert.True(File.Exists(restored.Text("kept")));
        Assert.Equal("B", Assert.Single(restored.GetProperty("restored").GetProperty("log").List("loads")).Text("breach"));
        await using (var host = await StartAsync("ready", "run"))
        {
            // After everything that the host had to repeat.
            await SucceedAsync("drop", Zip("C.zip", "user1@example.com\n"), "--wait");
            await UntilPublishedAsync("C", "user1@example.com");
            await host.TerminateAsync();
        }
        Assert.Equal($"{before}", $"{await JsonAsync("lookup", "user2@example.com")}");
        // Only C's mail is sent. Its id is far above the earlier ones, because ids continue from the clock.
        var id = Path.GetFileNameWithoutExtension(Assert.Single(Directory.GetFiles(mail, "*.eml")));
        Assert.True(long.Parse(id, CultureInfo.InvariantCulture) > began.ToUnixTimeMilliseconds(), id);

        // The catalogue is published after the load is done.
        async Task UntilPublishedAsync(string breach, string account) => Assert.True(await Probe.AskUntilAsync(true, async () =>
            (await JsonAsync("lookup", account)).List("breaches").Any(one => one.Text("name") == breach)));
    }

    [Fact]
    public async Task Leftovers_of_a_killed_restore_or_backup_are_removed_unless_in_use()
    {
        await SetUpAsync();
        await SucceedAsync("backup", In("backups/"));
        var backups = Directory.GetFiles(In("backups"));

        await using (var asked = await AskedAsync())
        {
            Assert.Single(Copies());
            await KillAsync();
        }
        var left = Assert.Single(Copies());
        await using (var waits = await AskedAsync())
        {
            // It has removed the leftovers, and doesn't block other commands.
            var own = Assert.Single(Copies());
            Assert.NotEqual(left, own);
            await SucceedAsync("restore", In("backups/"), "--dry-run");
            await SetUpAsync();
            Assert.Equal([own], Copies());
            await KillAsync();
        }
        Assert.Single(Copies());
        File.WriteAllText(Copies()[0] + "-wal", "its log");
        await SetUpAsync();
        Assert.Equal(["hibp.db"], Directory.GetFiles(Folder.Path, "hibp.db*").Select(Path.GetFileName));

        var part = In($"backups/hibp-x.db.{Guid.NewGuid():N}.part");
        await File.WriteAllTextAsync(part, "half of it");
        await File.WriteAllTextAsync(part + ".json", "{}");
        var used = In($"backups/hibp-y.db.{Guid.NewGuid():N}.part");
        await using (new FileStream(used, FileMode.CreateNew, FileAccess.Write, FileShare.Read))
        {
            await SucceedAsync("backup", In("backups/another.db"));
            string[] expected = [.. backups, used, In("backups/another.db"), In("backups/another.db.json")];
            Assert.Equal(
                expected.Order(StringComparer.Ordinal), Directory.GetFiles(In("backups")).Order(StringComparer.Ordinal));
        }

        string[] Copies() => Directory.GetFiles(Folder.Path, "hibp.db.*.restoring");

        // Only the process itself: if its terminal goes first, it receives a signal and cleans up.
        async Task KillAsync()
        {
            using var hibp = Process.GetProcessesByName("dotnet")
                .Single(one => new DirectoryInfo($"/proc/{one.Id}/cwd").LinkTarget == Folder.Path);
            hibp.Kill();
            await hibp.WaitForExitAsync();
        }

        async Task<TerminalProcess> AskedAsync()
        {
            var terminal = new TerminalProcess(Folder.Path, Variables, "restore backups/");
            await terminal.SeesAsync("Type its name to continue: ");
            return terminal;
        }
    }

    [Fact]
    public async Task Restore_lists_the_drops_it_reloads_and_the_breaches_it_removes_again()
    {
        await using (var host = await StartAsync("ready", "run"))
        {
            await SucceedAsync("drop", Zip("Kept.zip", "user@kept.example.com\n"), "--wait");
            await SucceedAsync("drop", Zip("Gone.zip", "user@gone.example.com\n"), "--wait");
            await SucceedAsync("log", "write");
            await SucceedAsync("backup", In("backup.db"));
            await host.TerminateAsync();
        }
        await SucceedAsync("breach", "remove", "Gone", "--yes");
        await SucceedAsync("drop", Zip("New.zip", "user@new.example.com\n"));
        var restored = await RunAsync("restore", In("backup.db"), "--yes");
        restored.Printed("Loaded again: New.zip.").Printed("Removed again: Gone.");
        Assert.Contains("loads of the journal: 1 of 1", restored.Error, StringComparison.Ordinal);
        Assert.Contains("load 2 of Gone: removed", restored.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Restore_keeps_the_database_owner_and_sets_mode_600()
    {
        if (OperatingSystem.IsWindows())
            return; // Windows has neither owner ids nor modes
        await SetUpAsync();
        var database = In("hibp.db");
        (await HibpProcess.RunAsync(Folder.Path, Variables, "backup", In("backup.db"))).Succeeded();
        var service = await Shell.OwnerAsync(database);
        await Shell.RunAsync("chown", service, database);
        await Shell.RunAsync("chmod", "644", database);
        await RestoreAsync();
        // If the file is lost, the folder's owner is used.
        File.Delete(database);
        await Shell.RunAsync("chown", service, Folder.Path);
        await RestoreAsync();

        async Task RestoreAsync()
        {
            (await HibpProcess.RunAsync(Folder.Path, Variables, "restore", In("backup.db"), "--yes")).Succeeded();
            Assert.Equal($"{service} 600", await Shell.RunAsync("stat", "-c", "%u:%g %a", database));
        }
    }

    [Fact]
    public async Task Backup_and_restore_on_SQL_Server_refer_to_BACKUP_DATABASE()
    {
        Variables["HIBP_DATABASE"] = "Server=none.invalid;Database=hibp;User ID=u;Password=p";
        foreach (var arguments in (string[][])[["backup", "to.db"], ["restore", "to.db", "--yes"]])
            Assert.Contains("hibp database restored", (await RunAsync(arguments)).FailedWith("BACKUP DATABASE"), StringComparison.Ordinal);
        Assert.Empty(Directory.GetFileSystemEntries(Folder.Path));
    }

    private string In(string name) => Path.Combine(Folder.Path, name);

    private async Task SucceedAsync(params string[] arguments) => (await RunAsync(arguments)).Succeeded();
}
