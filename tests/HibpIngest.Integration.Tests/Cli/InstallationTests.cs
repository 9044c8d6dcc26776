using ICSharpCode.SharpZipLib.Zip;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests an installation on one machine: HIBP_HOME, its permissions, its keys, and what <c>hibp doctor</c> reports.</summary>
public sealed class InstallationTests : CommandTestBase
{
    private const UnixFileMode OthersMode = UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.GroupExecute
        | UnixFileMode.OtherRead | UnixFileMode.OtherWrite | UnixFileMode.OtherExecute;

    public InstallationTests() => Variables["HIBP_EMULATOR_PORT"] = OperationTests.FreePorts().ToString(CultureInfo.InvariantCulture);

    private string Home => Path.Combine(Folder.Path, ".hibp");

    /// <summary>The stores are those of the home folder.</summary>
    public override Task InitializeAsync() => Task.CompletedTask;

    [Fact]
    public async Task Files_written_by_host_and_commands_are_accessible_to_their_owner_only()
    {
        if (OperatingSystem.IsWindows())
            return; // on Windows, folders inherit their permissions
        await using var host = await StartAsync("ready", "run");
        Folder.Write("A.zip", PipelineRig.Zip(("a.csv", "user1@example.com\n")));
        await RunProcessAsync("subscribers", "import", Folder.Write("subscribers.csv", "email,domain\nuser1@example.com,\n"));
        await RunProcessAsync("drop", "A.zip", "--wait");
        await RunProcessAsync("log", "write", "--load", "1");
        Assert.NotEmpty(Directory.GetFiles(Path.Combine(Home, "mail"), "*.eml"));
        string[] names = [".hibp", "backups", "exported", "rewritten", "subscribers"];
        var made = names.Select(name => Path.Combine(Folder.Path, name)).ToList();
        await RunProcessAsync("backup", made[1] + "/");
        await RunProcessAsync("log", "export", made[2]);
        await RunProcessAsync("log", "rewrite", made[3]);
        await RunProcessAsync("subscribers", "export", made[4]);
        // The write-ahead log exists while the host runs.
        Assert.Contains(Path.Combine(Home, "hibp.db-wal"), Directory.GetFiles(Home));
        var all = made.Concat(made.Where(Directory.Exists)
            .SelectMany(folder => Directory.GetFileSystemEntries(folder, "*", SearchOption.AllDirectories))).ToList();
        Assert.True(all.Count > 15, $"{all.Count} files and folders");
        foreach (var path in all)
            Assert.Equal((path, UnixFileMode.None), (path, File.GetUnixFileMode(path) & OthersMode));
        await host.TerminateAsync();
        Assert.Equal("ok", (await HomeCheckAsync()).Text("state"));
    }

    [Fact]
    public async Task Doctor_reports_an_open_home_and_the_chmod_that_restricts_it()
    {
        if (OperatingSystem.IsWindows())
            return; // on Windows, folders inherit their permissions
        Directory.CreateDirectory(Home);
        File.SetUnixFileMode(
            Home, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute | UnixFileMode.OtherExecute);
        var elsewhere = Folder.Write("other.db", "");
        File.SetUnixFileMode(elsewhere, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead);
        Variables["HIBP_DATABASE"] = elsewhere;
        var check = await HomeCheckAsync();
        Assert.Equal("missing", check.Text("state"));
        Assert.Contains(Home, check.Text("found"), StringComparison.Ordinal);
        Assert.Contains(elsewhere, check.Text("found"), StringComparison.Ordinal);
        var advice = check.Text("advice")!;
        Assert.StartsWith("chmod -R go-rwx ", advice, StringComparison.Ordinal);
        await Shell.RunAsync("sh", "-c", advice);
        Assert.Equal("ok", (await HomeCheckAsync()).Text("state"));
    }

    [Fact]
    public async Task Doctor_on_a_fresh_machine_reports_nothing_broken_and_suggests_the_next_step()
    {
        var result = (await RunAsync("doctor")).Printed("hibp run");
        Assert.Contains("hibp demo", result.Error, StringComparison.Ordinal);
        Assert.False(Directory.Exists(Home));
        var json = await JsonAsync("doctor");
        Assert.True(json.Flag("ok"));
        Assert.Equal(
            ["missing", "missing", "missing", "missing"],
            json.List("checks").Where(check => check.Text("check") is "blobs" or "queues" or "tables" or "database")
                .Select(check => check.Text("state")));
        // A host was set up once and has stopped: now its absence is reported.
        await SetUpAsync();
        Assert.Equal(1, (await RunAsync("doctor")).ExitCode);
    }

    [Fact]
    public async Task Keys_are_created_once_on_first_use_and_picked_up_by_a_running_host()
    {
        var (suppression, secret) = (Path.Combine(Home, "suppression.key"), Path.Combine(Home, "secret.key"));
        var subscribers = Folder.Write("subscribers.csv", "email,domain\na@example.com,\nb@example.com,\n");
        var own = Convert.ToBase64String([.. Enumerable.Repeat((byte)7, 32)]);
        await using (var host = await StartAsync("ready", "run"))
        {
            (await RunAsync("subscribers", "import", subscribers)).Succeeded();
            Assert.DoesNotContain("suppression.key", (await RunProcessAsync("backup", "before.db")).Output, StringComparison.Ordinal);
            Assert.False(File.Exists(suppression) || File.Exists(secret));

            // Two processes at once.
            await Task.WhenAll(
                RunProcessAsync("subscribers", "remove", "a@example.com"), RunProcessAsync("subscribers", "forget", "b@example.com"));
            var key = await File.ReadAllTextAsync(suppression);
            Assert.Equal(32, Convert.FromBase64String(key.Trim()).Length);
            if (!OperatingSystem.IsWindows())
                Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(suppression));
            Assert.DoesNotContain(Directory.GetFiles(Home), file => file.StartsWith(suppression + ".", StringComparison.Ordinal));
            (await RunAsync("subscribers", "import", subscribers)).Printed("2 suppressed");

            // The host, started before password and zip were added, opens the archive.
            var zip = Folder.Write("Sealed.zip", ArchiveTesting.Encrypted(
                "correct horse", 256, CompressionMethod.Deflated, ("a.csv", "user1@example.com\n"u8.ToArray())));
            (await RunWithInputAsync("correct horse\n", "drop", zip, "--password-stdin", "--wait")).Succeeded();
            Assert.True(File.Exists(secret));
            // The catalogue is published after the load is done.
            Assert.True(await Probe.AskUntilAsync(true, async () =>
                (await RunAsync("lookup", "user1@example.com")).Succeeded().Output.Contains("Sealed", StringComparison.Ordinal)));
            Assert.Equal(key, await File.ReadAllTextAsync(suppression));

            // A path below the current folder is shown as a relative one.
            (await RunProcessAsync("backup", "after.db"))
                .Printed(Path.Combine(".hibp", "suppression.key")).Printed(Path.Combine(".hibp", "secret.key"));

            // A variable overrides the file if it has the same key, and is refused otherwise.
            Variables["HIBP_SUPPRESSION_KEY"] = key.Trim();
            (await RunAsync("subscribers", "import", subscribers)).Succeeded();
            Variables["HIBP_SUPPRESSION_KEY"] = own;
            var refused = (await RunAsync("subscribers", "import", subscribers)).FailedWith("HIBP_SUPPRESSION_KEY");
            Assert.Contains(suppression, refused, StringComparison.Ordinal);
            Assert.DoesNotContain(own, refused, StringComparison.Ordinal);
            Variables.Remove("HIBP_SUPPRESSION_KEY");
            Variables["HIBP_SECRET_KEY"] = own;
            (await RunAsync("status")).FailedWith(secret);
            // A changed key keeps the old one.
            Variables["HIBP_SECRET_KEY"] = $"{own},{(await File.ReadAllTextAsync(secret)).Trim()}";
            (await RunAsync("status")).Succeeded();
            Variables.Remove("HIBP_SECRET_KEY");
            await host.TerminateAsync();
        }
        // A lost key is not replaced by a new one: suppressed subscribers would be notified.
        File.Move(suppression, suppression + ".away");
        var lost = await RunAsync("run");
        Assert.Equal(1, lost.ExitCode);
        Assert.Contains("suppression.key", lost.Error, StringComparison.Ordinal);
        Assert.False(File.Exists(suppression));
    }

    private async Task<JsonElement> HomeCheckAsync() =>
        (await RunAsync("doctor", "--json")).Json.List("checks").Single(check => check.Text("check") == "home");

    private async Task<HibpResult> RunProcessAsync(params string[] arguments) =>
        (await HibpProcess.RunAsync(Folder.Path, Variables, arguments)).Succeeded();
}
