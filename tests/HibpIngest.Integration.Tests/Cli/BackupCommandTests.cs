using System.Diagnostics;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the backup commands as an operator runs them, while a host runs.</summary>
public sealed class BackupCommandTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Backup_taken_under_a_running_host_restores_without_repeating_mail()
    {
        var began = TimeProvider.System.GetUtcNow();
        var mail = Path.Combine(_folder.Path, "mail");
        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = await AzuriteFixture.NewAccountAsync(),
            ["HIBP_DATABASE"] = In("hibp.db"),
            ["HIBP_MAIL"] = "pickup:" + mail,
        };
        _folder.Write("subscribers.csv", "email,domain\nuser1@example.com,\nuser2@example.com,\n");
        foreach (var (name, account) in ((string, string)[])[("A", "user1"), ("B", "user2")])
            _folder.Write($"{name}.zip", PipelineRig.Zip(("a.csv", $"{account}@example.com\n")));
        await RunAsync("subscribers", "import", In("subscribers.csv"));
        string folder;
        await using (var host = await StartAsync())
        {
            await RunAsync("drop", In("A.zip"), "--wait");
            var backup = (await RunAsync("backup", In("backups/"), "--json")).Json;
            Assert.Equal(1, backup.GetProperty("highest").GetProperty("load").GetInt32());
            folder = Path.Combine(_folder.Path, "backups");
            Assert.Equal(
                [Path.GetFileName(backup.GetProperty("file").GetString()), Path.GetFileName(backup.GetProperty("note").GetString())],
                Directory.GetFiles(folder).Select(Path.GetFileName).Order());
            await RunAsync("drop", In("B.zip"), "--wait");
            await UntilPublishedAsync("B", "user2@example.com");
            await RunAsync("log", "write", "--load", "2"); // the host may have done it already
            Assert.Equal(2, Directory.GetFiles(mail, "*.eml").Length);
            var running = await HibpInProcess.RunAsync(_folder.Path, variables, "restore", In("backups/"), "--yes");
            Assert.Contains("a host is running on", running.FailedWithOneLine(), StringComparison.Ordinal);
            Assert.Equal(0, (await host.TerminateAsync()).ExitCode is 0 or 143 ? 0 : 1);
        }
        var asked = await HibpInProcess.RunAsync(_folder.Path, variables, "restore", In("backups/"));
        Assert.Equal(2, asked.ExitCode);
        Assert.Contains("add --yes", asked.Error, StringComparison.Ordinal);
        var before = await RunAsync("lookup", "user2@example.com", "--json");
        Assert.Contains("Nothing was changed", (await RunAsync("restore", In("backups/"), "--dry-run")).Output, StringComparison.Ordinal);

        Directory.Delete(mail, recursive: true);
        var restored = (await RunAsync("restore", In("backups/"), "--yes", "--json")).Json;
        Assert.True(File.Exists(restored.GetProperty("kept").GetString()));
        Assert.Equal(
            "B", Assert.Single(restored.GetProperty("restored").GetProperty("log").GetProperty("loads").EnumerateArray())
                .GetProperty("breach").GetString());
        _folder.Write("C.zip", PipelineRig.Zip(("a.csv", "user1@example.com\n")));
        await using (var host = await StartAsync())
        {
            // After everything that the host had to repeat.
            await RunAsync("drop", In("C.zip"), "--wait");
            await UntilPublishedAsync("C", "user1@example.com");
            await host.TerminateAsync();
        }
        Assert.Equal(before.Output, (await RunAsync("lookup", "user2@example.com", "--json")).Output);
        // Only C's mail is sent. Its id is far above the earlier ones, because ids continue from the clock.
        var id = Path.GetFileNameWithoutExtension(Assert.Single(Directory.GetFiles(mail, "*.eml")));
        Assert.True(long.Parse(id, CultureInfo.InvariantCulture) > began.ToUnixTimeMilliseconds(), id);

        // The catalogue is published after the load is done.
        async Task UntilPublishedAsync(string breach, string account) => Assert.True(await Probe.AskUntilAsync(true, async () =>
            (await RunAsync("lookup", account, "--json")).Json.GetProperty("breaches").EnumerateArray()
                .Any(one => one.GetProperty("name").GetString() == breach)));

        Task<HibpProcess> StartAsync() => HibpProcess.StartAsync(_folder.Path, variables, "ready", "run");

        async Task<HibpResult> RunAsync(params string[] arguments) =>
            (await HibpInProcess.RunAsync(_folder.Path, variables, arguments)).Succeeded();
    }

    [Fact]
    public async Task Leftovers_of_a_killed_restore_or_backup_are_removed_unless_in_use()
    {
        var variables = await SetUpAsync();
        (await HibpInProcess.RunAsync(_folder.Path, variables, "backup", In("backups/"))).Succeeded();
        var backups = Directory.GetFiles(Path.Combine(_folder.Path, "backups"));

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
            (await HibpInProcess.RunAsync(_folder.Path, variables, "restore", In("backups/"), "--dry-run")).Succeeded();
            await HibpInProcess.SetUpAsync(_folder.Path, variables);
            Assert.Equal([own], Copies());
            await KillAsync();
        }
        Assert.Single(Copies());
        File.WriteAllText(Copies()[0] + "-wal", "its log");
        await HibpInProcess.SetUpAsync(_folder.Path, variables);
        Assert.Equal(["hibp.db"], Directory.GetFiles(_folder.Path, "hibp.db*").Select(Path.GetFileName));

        var part = Path.Combine(_folder.Path, "backups", $"hibp-x.db.{Guid.NewGuid():N}.part");
        await File.WriteAllTextAsync(part, "half of it");
        await File.WriteAllTextAsync(part + ".json", "{}");
        var used = Path.Combine(_folder.Path, "backups", $"hibp-y.db.{Guid.NewGuid():N}.part");
        await using (new FileStream(used, FileMode.CreateNew, FileAccess.Write, FileShare.Read))
        {
            (await HibpInProcess.RunAsync(_folder.Path, variables, "backup", In("backups/another.db"))).Succeeded();
            Assert.Equal(
                backups.Append(used).Append(Path.Combine(_folder.Path, "backups", "another.db"))
                    .Append(Path.Combine(_folder.Path, "backups", "another.db.json")).Order(StringComparer.Ordinal),
                Directory.GetFiles(Path.Combine(_folder.Path, "backups")).Order(StringComparer.Ordinal));
        }

        string[] Copies() => Directory.GetFiles(_folder.Path, "hibp.db.*.restoring");

        // Only the process itself: if its terminal goes first, it receives a signal and cleans up.
        async Task KillAsync()
        {
            using var hibp = Process.GetProcessesByName("dotnet")
                .Single(one => new DirectoryInfo($"/proc/{one.Id}/cwd").LinkTarget == _folder.Path);
            hibp.Kill();
            await hibp.WaitForExitAsync();
        }

        async Task<TerminalProcess> AskedAsync()
        {
            var terminal = new TerminalProcess(_folder.Path, variables, "restore backups/");
            await terminal.SeesAsync("Type its name to continue: ");
            return terminal;
        }
    }

    [Fact]
    public async Task Restore_lists_the_drops_it_reloads_and_the_breaches_it_removes_again()
    {
        var variables = await SetUpAsync();
        foreach (var name in (string[])["Kept", "Gone", "New"])
            _folder.Write($"{name}.zip", PipelineRig.Zip(("a.csv", $"user@{name.ToLowerInvariant()}.example.com\n")));
        await using (var host = await HibpProcess.StartAsync(_folder.Path, variables, "ready", "run"))
        {
            await RunAsync("drop", In("Kept.zip"), "--wait");
            await RunAsync("drop", In("Gone.zip"), "--wait");
            await RunAsync("log", "write");
            await RunAsync("backup", In("backup.db"));
            await host.TerminateAsync();
        }
        await RunAsync("breach", "remove", "Gone", "--yes");
        await RunAsync("drop", In("New.zip"));
        var restored = await RunAsync("restore", In("backup.db"), "--yes");
        Assert.Contains("Loaded again: New.zip.", restored.Output, StringComparison.Ordinal);
        Assert.Contains("Removed again: Gone.", restored.Output, StringComparison.Ordinal);
        Assert.Contains("loads of the journal: 1 of 1", restored.Error, StringComparison.Ordinal);
        Assert.Contains("load 2 of Gone: removed", restored.Error, StringComparison.Ordinal);

        async Task<HibpResult> RunAsync(params string[] arguments) =>
            (await HibpInProcess.RunAsync(_folder.Path, variables, arguments)).Succeeded();
    }

    [Fact]
    public async Task Restore_keeps_the_database_owner_and_sets_mode_600()
    {
        if (OperatingSystem.IsWindows())
            return; // Windows has neither owner ids nor modes
        var variables = await SetUpAsync();
        var database = Path.Combine(_folder.Path, "hibp.db");
        (await HibpProcess.RunAsync(_folder.Path, variables, "backup", In("backup.db"))).Succeeded();
        // Only root can change a file's owner; another user restores files that he owns.
        var service = Environment.IsPrivilegedProcess ? "12345:12346" : await Shell.RunAsync("stat", "-c", "%u:%g", database);
        await Shell.RunAsync("chown", service, database);
        await Shell.RunAsync("chmod", "644", database);
        (await HibpProcess.RunAsync(_folder.Path, variables, "restore", In("backup.db"), "--yes")).Succeeded();
        Assert.Equal($"{service} 600", await Shell.RunAsync("stat", "-c", "%u:%g %a", database));
        // If the file is lost, the folder's owner is used.
        File.Delete(database);
        await Shell.RunAsync("chown", service, _folder.Path);
        (await HibpProcess.RunAsync(_folder.Path, variables, "restore", In("backup.db"), "--yes")).Succeeded();
        Assert.Equal($"{service} 600", await Shell.RunAsync("stat", "-c", "%u:%g %a", database));
    }

    private string In(string name) => Path.Combine(_folder.Path, name);

    private async Task<Dictionary<string, string>> SetUpAsync()
    {
        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = await AzuriteFixture.NewAccountAsync(),
            ["HIBP_DATABASE"] = In("hibp.db"),
            ["HIBP_MAIL"] = "pickup:" + Path.Combine(_folder.Path, "mail"),
        };
        await HibpInProcess.SetUpAsync(_folder.Path, variables);
        return variables;
    }

    [Fact]
    public async Task Backup_and_restore_on_SQL_Server_refer_to_BACKUP_DATABASE()
    {
        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = await AzuriteFixture.NewAccountAsync(),
            ["HIBP_DATABASE"] = "Server=none.invalid;Database=hibp;User ID=u;Password=p",
        };
        foreach (var arguments in (string[][])[["backup", "to.db"], ["restore", "to.db", "--yes"]])
        {
            var line = (await HibpInProcess.RunAsync(_folder.Path, variables, arguments)).FailedWithOneLine();
            Assert.Contains("BACKUP DATABASE", line, StringComparison.Ordinal);
            Assert.Contains("hibp database restored", line, StringComparison.Ordinal);
        }
        Assert.Empty(Directory.GetFileSystemEntries(_folder.Path));
    }
}
