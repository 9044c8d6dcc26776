using System.IO.Compression;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>
/// Tests the commands on a storage account of the emulator and a database file of the test's own; also by spellings of earlier versions
/// (CommandTree.OldSpellings), such as 'log' for 'journal'.
/// </summary>
public sealed class CommandTests : CommandTestBase
{
    private static readonly string Accounts = string.Join('\n', Enumerable.Range(0, 300).Select(i => $"user{i}@example{i % 7}.com"));

    [Fact]
    public async Task Breach_is_dropped_notified_hidden_requeued_purged_and_removed()
    {
        var zip = Zip("dump.zip", Accounts + "\nbad@localhost\n");
        var subscribers = Folder.Write(
            "subscribers.csv", "email,domain\nUser1@example1.com,\nadmin@example.org,example2.com\nnobody@example.net,\n");
        var import = await JsonAsync("subscribers", "import", subscribers);
        Assert.Equal((3, 3), (import.Number("read"), import.Number("added")));
        Assert.Equal(3, (await JsonAsync("subscribers", "list")).List("subscribers").Count);

        await using var host = await StartAsync("ready", "run");

        var load = await JsonAsync(
            "drop", zip, "--breach", "Tiny", "--title", "Tiny Inc", "--domain", "tiny.example", "--date", "2020-01-02", "--data-class",
            "Email addresses", "--data-class", "Passwords", "--verified", "--notify", "hold", "--wait");
        Assert.Equal(("Tiny", "Tiny.zip", "held"), (load.Text("breach"), load.Text("blob"), load.Text("state")));
        Assert.Equal(
            (300, 1, 1, 2), (load.Number("accounts"), load.Number("rejected"), load.Number("batches"), load.Number("notifications")));
        Assert.Equal(1, load.GetProperty("slices").Number("done"));
        Assert.Null(load.Text("error"));
        var number = $"{load.Number("load")}";

        // The load is held, so no mail was sent yet; 43 of the numbers below 300 leave 2 when divided by 7.
        var preview = (await JsonAsync("notify", "Tiny", "--dry-run")).List("notifications")
            .Select(line => (line.Text("email"), line.Text("domain"), line.Number("accounts"))).Order();
        Assert.Equal([("admin@example.org", "example2.com", 43), ("user1@example1.com", null, 1)], preview);
        Assert.Equal(2, (await JsonAsync("hold", "tiny")).Number("notifications"));
        Assert.Equal(2, (await JsonAsync("notify", "tiny")).Number("notifications"));
        await UntilDoneAsync();
        Assert.Equal(2, Directory.GetFiles(Path.Combine(Folder.Path, "mail"), "*.eml").Length);
        (await RunAsync("notify", "Tiny")).FailedWith("no load of Tiny is held");
        (await RunAsync("hold", "Tiny")).FailedWith("nothing left to hold");

        var found = await JsonAsync("lookup", " USER1@example1.com");
        Assert.Equal("user1@example1.com", found.Text("account"));
        var breach = Assert.Single(found.List("breaches"));
        Assert.Equal(
            ("Tiny", "Tiny Inc", "tiny.example", "2020-01-02", true),
            (breach.Text("name"), breach.Text("title"), breach.Text("domain"), breach.Text("breachDate"), breach.Flag("isVerified")));
        (await RunAsync("lookup", "user1@example1.com")).Printed("Tiny (Tiny Inc)");
        (await RunAsync("lookup", "user1@example2.com")).Printed("in no public breach");
        Assert.DoesNotContain(
            "somebody", (await RunAsync("lookup", "somebody@nowhere")).FailedWith("not a valid address"), StringComparison.Ordinal);

        // Many accounts, one per line: an invalid line is reported by its number only, and the document is complete all the same.
        var many = await RunWithInputAsync("USER1@example1.com\n\nnobody@localhost\nuser1@example2.com\n", "lookup", "-", "--json");
        Assert.Equal(1, many.ExitCode);
        Assert.Equal(
            [("user1@example1.com", 1), ("user1@example2.com", 0)],
            many.Json.List("accounts").Select(one => (one.Text("account"), one.List("breaches").Count)));
        Assert.Equal(3, Assert.Single(many.Json.List("refused")).Number("line"));
        Assert.Contains("error: 1 of 3 lines", many.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("nobody", many.Error, StringComparison.Ordinal);

        var catalogue = await JsonAsync("catalogue", "publish");
        Assert.Equal((1, 0, 0), (catalogue.Number("breaches"), catalogue.Number("written"), catalogue.Number("deleted")));
        (await RunAsync("breach", "hide", "Tiny")).Succeeded();
        (await RunAsync("catalogue", "publish")).Printed("with 0 breaches: 0 blobs written, 0 deleted");
        Assert.Empty((await JsonAsync("lookup", "user1@example1.com")).List("breaches"));
        (await RunAsync("breach", "show", "tiny")).Succeeded();
        Assert.Single((await JsonAsync("lookup", "user1@example1.com")).List("breaches"));

        var slice = Assert.Single((await JsonAsync("slices", "Tiny")).List("slices"));
        Assert.Equal((1, 300, "done"), (slice.Number("first"), slice.Number("last"), slice.Text("state")));
        Assert.Empty((await JsonAsync("slices", "Tiny", "--failed")).List("slices"));
        Assert.Equal(1, (await JsonAsync("requeue", "Tiny", "--slice", "1")).Number("requeued"));
        await UntilDoneAsync();
        Assert.Equal(2, Directory.GetFiles(Path.Combine(Folder.Path, "mail"), "*.eml").Length);

        (await RunAsync("log", "write", "--load", number)).Succeeded(); // the host may have done it already
        Assert.Empty((await JsonAsync("purge", "--older-than", "1")).List("loads"));
        Assert.Equal(300, Assert.Single((await JsonAsync("purge", number)).List("loads")).Number("rows"));
        Assert.Equal(1, (await JsonAsync("requeue", "Tiny", "--all")).Number("requeued"));
        await UntilDoneAsync();
        (await RunAsync("resume", number)).FailedWith("only failed loads");

        var empty = await RunAsync("drop", Zip("Nothing.zip", "no account in here"), "--wait", "--json");
        Assert.Equal((1, "failed"), (empty.ExitCode, empty.Json.Text("state")));
        Assert.Contains(
            "no account in it", Assert.Single(empty.Error.Split('\n'), line => line.StartsWith("error: ", StringComparison.Ordinal)),
            StringComparison.Ordinal);

        Assert.Equal(300, (await JsonAsync("breach", "remove", "Tiny", "--yes")).Number("entities"));
        Assert.Empty((await JsonAsync("lookup", "user1@example1.com")).List("breaches"));
        Assert.Equal("Nothing", Assert.Single((await JsonAsync("breaches")).List("breaches")).Text("name"));
        (await RunAsync("status", "Tiny")).FailedWith("no breach 'Tiny'");

        var ended = await host.TerminateAsync();
        Assert.Equal(143, ended.ExitCode);
        Assert.EndsWith("stopped", ended.Error.TrimEnd(), StringComparison.Ordinal);
        // A host's output goes into log files.
        Assert.DoesNotContain("@", ended.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Load_made_without_a_journal_is_logged_later_verified_and_exported()
    {
        Variables["HIBP_JOURNAL"] = "off";
        await using (var host = await StartAsync("ready", "run"))
        {
            (await RunAsync("drop", Zip("Tiny.zip", Accounts), "--wait")).Succeeded();
            (await RunAsync("purge", "1")).FailedWith("--without-log");
            (await RunAsync("log", "write")).FailedWith("HIBP_JOURNAL");
        }
        Variables["HIBP_JOURNAL"] = "on";
        Assert.Empty((await JsonAsync("log", "list")).List("loads"));
        (await RunAsync("status")).Printed("load 1 of Tiny is not in the journal");
        Assert.Equal("missing", StatesOf(await JsonAsync("doctor"))["journal"]);
        var unlogged = await RunAsync("log", "verify");
        Assert.Equal(1, unlogged.ExitCode);
        Assert.Contains("load 1 of Tiny is not in the journal", unlogged.Error, StringComparison.Ordinal);
        (await RunAsync("purge", "1")).FailedWith("hibp journal write --load 1");

        Assert.Equal(300, Assert.Single((await JsonAsync("log", "write")).List("loads")).Number("rows"));
        Assert.Empty((await JsonAsync("log", "write")).List("loads"));
        var logged = Assert.Single((await JsonAsync("log", "list")).List("loads"));
        Assert.Equal(("Tiny", "counts", 300), (logged.Text("breach"), logged.Text("state"), logged.Number("rows")));
        var verified = await JsonAsync("log", "verify", "--accounts");
        Assert.Equal((300, 300), (verified.Number("rows"), verified.Number("accounts")));

        var (copy, cold) = (Path.Combine(Folder.Path, "copy"), Path.Combine(Folder.Path, "cold"));
        var copied = await JsonAsync("log", "export", copy);
        Assert.Equal(copied.ToString(), (await JsonAsync("log", "export", copy)).ToString());
        Assert.True((await JsonAsync("log", "rewrite", cold)).Number("bytes") < copied.Number("bytes"));
        foreach (var folder in (string[])[copy, cold])
        {
            var there = Assert.Single(await LogContent.ReadAsync(new HibpIngest.Journal.Files.FolderJournal(folder)));
            Assert.Equal(Accounts.Split('\n').Order(StringComparer.Ordinal), there.Accounts.Order(StringComparer.Ordinal));
            Assert.Equal(("Tiny", 300), (there.Document!.Breach, there.Document.Rows));
        }

        // An account missing from the table and a missing segment are each reported, and nothing is purged.
        using (var stores = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance))
        {
            await stores.Table.RemoveMarkAsync("example1.com", ["user1"], 1, None);
            var incomplete = await RunAsync("log", "verify", "--accounts", "--json");
            Assert.Equal(1, incomplete.ExitCode);
            Assert.Contains("1 accounts of load 1", incomplete.Json.GetProperty("faults")[0].GetString(), StringComparison.Ordinal);
            await foreach (var blob in stores.JournalBlobs.ListAsync("", None))
            {
                if (blob.Name.EndsWith(".alog", StringComparison.Ordinal))
                    await stores.JournalBlobs.DeleteAsync(blob.Name, None);
            }
        }
        Assert.Contains(".alog", (await RunAsync("log", "verify")).Error, StringComparison.Ordinal);
        (await RunAsync("purge", "1")).FailedWith(".alog");
        (await RunAsync("log", "write", "--load", "1", "--again")).Succeeded();
        Assert.Equal(300, (await JsonAsync("log", "verify")).Number("rows"));
    }

    [Fact]
    public async Task Ranges_are_backfilled_under_a_running_host()
    {
        Variables["HIBP_RANGES"] = "off";
        (await RunAsync("ranges", "fill")).FailedWith("does not exist");
        await using var host = await StartAsync("ready", "run");
        (await RunAsync("drop", Zip("Tiny.zip", Accounts), "--wait")).Succeeded();
        Assert.Equal("off", (await JsonAsync("ranges", "status")).Text("ranges"));

        var filled = await JsonAsync("ranges", "fill");
        Assert.Equal(("on", 300), (filled.Text("ranges"), filled.Number("accounts")));
        Assert.True(filled.GetProperty("seconds").GetDouble() > 0);
        var storage = Variables["HIBP_STORAGE"];
        Assert.Equal(
            RawTable.RangesOf(await RawTable.ReadAccountsAsync(storage, "accounts")), await RawTable.ReadRangesAsync(storage, "ranges"));
        Assert.StartsWith("Ranges are on", (await RunAsync("ranges", "status")).Succeeded().Output, StringComparison.Ordinal);
        (await RunAsync("ranges", "fill")).Printed("nothing to write");
    }

    [Fact]
    public async Task Status_without_loads_lists_every_queue_and_refuses_another_database()
    {
        await SetUpAsync();
        var status = await JsonAsync("status");
        Assert.Empty(status.List("loads"));
        Assert.Equal(
            ["breach-ingest", "breach-slices", "breach-match", "breach-mail", "breach-log", "breach-calls",
                "breach-callbacks", "passwords-import", "passwords-append", "access-rollup", "hibp-commands"],
            status.List("queues").Select(queue => queue.Text("name")));

        // The table was filled from another database.
        Variables["HIBP_DATABASE"] = Path.Combine(Folder.Path, "another.db");
        var upgraded = await JsonAsync("database", "upgrade");
        Assert.Equal(0, upgraded.Number("from"));
        Assert.True(upgraded.Number("to") > 0);
        Assert.Equal(upgraded.Number("to"), (await JsonAsync("database", "upgrade")).Number("from"));
        (await RunAsync("status")).FailedWith("belongs to another database");
    }

    [Theory]
    [InlineData("status --watch | head -1", 141, 1)]
    [InlineData("status --watch | head -12", 141, 12)]
    [InlineData("status --watch | true", 141, 0)]
    [InlineData("status --json | true", 0, 0)]
    public async Task Status_ends_quietly_when_its_reader_closes_the_pipe(string line, int exitCode, int lines)
    {
        await SetUpAsync();
        var status = await ShellAsync($"{line}; exit ${{PIPESTATUS[0]}}");
        // A slow emulator may add a line; nothing else may.
        var error = status.Error.Replace("waiting: the store did not respond within 10 seconds\n", "", StringComparison.Ordinal);
        Assert.Equal((exitCode, "", lines), (status.ExitCode, error, status.Output.Count(letter => letter == '\n')));
    }

    [Fact]
    public async Task Drop_refuses_invalid_input_before_uploading()
    {
        (await RunAsync("drop", Folder.Write("text.zip", "a,b\nc,d\n"))).FailedWith("not a zip archive");
        (await RunAsync("drop", Folder.Write("short.zip", "PK"))).FailedWith("not a zip archive");
        (await RunAsync("drop", Zip("dump.rar", "a@b.example"))).FailedWith("ends in .zip");
        (await RunAsync("drop", Zip("x.zip", "a@b.example"), "--breach", "a@b")).FailedWith("@");
        var described = Zip("Described.zip", "a@b.example");
        Folder.Write("Described.json", "{ \"Title\": ");
        (await RunAsync("drop", described)).FailedWith("not JSON");
        (await RunAsync("drop", Zip("Zipped.csv", "a@b.example"))).FailedWith("is not a text, as its name says: found a zip archive");
        (await RunAsync("drop", Folder.Write("Open.csv", "a@b.example\n"), "--password", "x")).FailedWith(
            "a password opens the entries of a zip, and 'Open.csv' is not one");
        var locked = Zip("Locked.zip", "a@b.example");
        (await RunAsync("drop", locked, "--password", "x")).FailedWith("HIBP_SECRET_KEY");
        (await RunWithInputAsync("", "drop", locked, "--password-stdin")).FailedWith("empty");

        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        await account.Blobs.CreateAsync(None);
        Assert.Empty(await account.Blobs.ListDropsAsync(None).ToListAsync());
    }

    [Fact]
    public async Task Drop_uploads_archive_and_metadata_without_a_database()
    {
        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        var first = Zip("Adobe.2.zip", "a@b.example");
        Folder.Write("Adobe.json", "{\"Title\":\"Beside it\",\"IsSensitive\":true}");
        var drop = await JsonAsync("drop", first);
        Assert.Equal(("Adobe", "Adobe.2.zip"), (drop.Text("breach"), drop.Text("blob")));
        var uploaded = await account.Blobs.ReadSmallAsync("Adobe.json", 1000, None);
        Assert.Equal("{\"Title\":\"Beside it\",\"IsSensitive\":true}", Encoding.UTF8.GetString(uploaded!));

        var second = Zip("whatever.zip", "c@d.example");
        drop = await JsonAsync("drop", second, "--breach", "Site.2", "--stealer-log", "--notify", "hold");
        Assert.Equal(("Site.2", "Site.2.zip"), (drop.Text("breach"), drop.Text("blob")));
        var metadata = BreachMetadata.Parse((await account.Blobs.ReadSmallAsync("Site.2.json", 1000, None))!);
        Assert.Equal(("Site.2", BreachFlags.StealerLog, NotifyMode.Hold), (metadata.Name, metadata.Flags, metadata.Notify));

        var blobs = await account.Blobs.ListDropsAsync(None).ToListAsync();
        Assert.Equal(
            [("Adobe.2.zip", new FileInfo(first).Length), ("Site.2.zip", new FileInfo(second).Length)],
            blobs.Select(blob => (blob.Version.Name, blob.Length)));
        Assert.False(File.Exists(Variables["HIBP_DATABASE"]));

        // The same bytes under another name are reported, and loaded only with --again.
        var copy = Folder.Write("Copy.zip", await File.ReadAllBytesAsync(second));
        Assert.Matches(
            @"the same content was already dropped as Site\.2\.zip on \d{4}-\d\d-\d\d; to load it again, add --again",
            (await RunAsync("drop", copy)).FailedWithOneLine());
        Assert.Equal("Copy", (await JsonAsync("drop", copy, "--again")).Text("breach"));

        // A JSON file given to drop is data; only options describe the breach.
        var json = Folder.Write("Leak.json", "[\"e@f.example\"]");
        drop = await JsonAsync("drop", json);
        Assert.Equal(("Leak", "Leak.json.gz"), (drop.Text("breach"), drop.Text("blob")));
        Assert.Null(await account.Blobs.FindAsync("Leak.json", None));
        var version = (await account.Blobs.FindAsync("Leak.json.gz", None))!.Version;
        await using (var gzip = new GZipStream(await account.Blobs.OpenAsync(version, None), CompressionMode.Decompress))
            Assert.Equal("[\"e@f.example\"]", await new StreamReader(gzip).ReadToEndAsync());
        (await RunAsync("drop", json)).FailedWith("dropped as Leak.json.gz");
        drop = await JsonAsync("drop", json, "--breach", "Other.2", "--again");
        Assert.Equal(("Other.2", "Other.2.json.gz"), (drop.Text("breach"), drop.Text("blob")));
    }

    [Fact]
    public async Task Poison_messages_are_listed_requeued_and_purged()
    {
        await SetUpAsync();
        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        var poison = account.Queues.Get("breach-slices-poison");
        await poison.SendAsync("{\"load\":1}", TimeSpan.Zero, None);

        var listed = Assert.Single((await JsonAsync("poison", "list", "breach-slices-poison")).List("queues"));
        Assert.Equal(("breach-slices", 1), (listed.Text("queue"), listed.Number("messages")));
        Assert.Equal("{\"load\":1}", Assert.Single(listed.List("head")).Text("body"));
        Assert.Equal(11, (await JsonAsync("poison", "list")).List("queues").Count);

        Assert.Equal(1, (await JsonAsync("poison", "requeue", "breach-slices")).Number("messages"));
        Assert.Equal("{\"load\":1}", Assert.Single(await account.Queues.Get("breach-slices").PeekAsync(32, None)).Body);

        await poison.SendAsync("{\"load\":2}", TimeSpan.Zero, None);
        Assert.Equal(1, (await JsonAsync("poison", "purge", "breach-slices")).Number("messages"));
        Assert.Empty(await poison.PeekAsync(32, None));
    }

    [Fact]
    public async Task Doctor_reports_each_state_and_fails_when_a_required_check_is_broken()
    {
        await SetUpAsync();
        var well = await JsonAsync("doctor");
        Assert.True(well.Flag("ok"));
        var states = StatesOf(well);
        Assert.DoesNotContain("broken", states.Values);
        Assert.All(
            (string[])["blobs", "queues", "tables", "database", "mails", "identity", "layouts", "journal"],
            check => Assert.Equal((check, "ok"), (check, states[check])));

        // Database and register are compared, and each layout with its expected content.
        await using (var database = SqliteBreachDatabase.Open(Path.Combine(Folder.Path, "hibp.db"), TimeProvider.System))
        {
            var facts = new LayoutFacts { AccountsTable = "accountswide", RangesTable = "rangeswide" };
            await database.AddLayoutAsync(new StoreLayout { Id = 2, Ranges = RangesState.Off, Facts = facts }, None);
            await database.SetRebuildAsync(2, "{}", None);
        }
        Assert.Equal("broken", StatesOf((await RunAsync("doctor", "--json")).Json)["layouts"]);
        await SetUpAsync();
        var open = StatesOf((await RunAsync("doctor", "--json")).Json);
        Assert.Equal(("ok", "missing"), (open["layouts"], open["layout wide"]));

        // The service responds, and refuses the wrong key.
        Variables["HIBP_STORAGE"] = ConnectionStrings.WithWrongKey(Variables["HIBP_STORAGE"]);
        Variables["HIBP_MAILPERSECOND"] = "10";
        var ill = await RunAsync("doctor", "--json");
        Assert.Equal(1, ill.ExitCode);
        states = StatesOf(ill.Json);
        Assert.Equal(
            ("broken", "broken", "broken", "ok", "missing"),
            (states["blobs"], states["queues"], states["tables"], states["database"], states["settings"]));
        Assert.DoesNotContain(ConnectionStrings.WrongKey, ill.Output + ill.Error, StringComparison.Ordinal);
        Assert.Contains("error: ", ill.Error, StringComparison.Ordinal);

        (await RunAsync("status")).FailedWithOneLine();
    }

    [Fact]
    public async Task Doctor_lists_every_check_once_when_no_store_responds()
    {
        await SetUpAsync();
        var well = StatesOf(await JsonAsync("doctor"));

        // Every host refuses an empty database with tables that another database has filled.
        await using (var host = await StartAsync("ready", "run"))
            (await RunAsync("drop", Zip("Tiny.zip", "user1@example.com"), "--wait")).Succeeded();
        var database = Variables["HIBP_DATABASE"];
        Variables["HIBP_DATABASE"] = Path.Combine(Folder.Path, "fresh.db");
        var fresh = await RunAsync("doctor", "--json");
        Assert.Equal((1, "broken"), (fresh.ExitCode, StatesOf(fresh.Json)["identity"]));

        // Ports that refuse connections.
        Variables["HIBP_DATABASE"] = database;
        Variables["HIBP_STORAGE"] = ConnectionStrings.Of("http://127.0.0.1:1");
        Variables["HIBP_MAIL"] = "smtp://127.0.0.1:1?tls=none";
        var ill = await RunAsync("doctor", "--json");
        Assert.Equal(1, ill.ExitCode);
        var states = StatesOf(ill.Json);
        Assert.Equal(well.Keys.Order(), states.Keys.Order());
        Assert.Equal(
            ["blobs", "mails", "queues", "tables"], states.Where(state => state.Value == "broken").Select(state => state.Key).Order());
        Assert.Equal(
            ["clients", "identity", "journal", "layouts", "roles", "suppressions"],
            states.Where(state => state.Value == "skipped").Select(state => state.Key).Order());
    }

    [Fact]
    public async Task Sample_is_identical_for_the_same_seed()
    {
        var first = await SampleAsync("A.zip", seed: 5);
        Assert.Equal(first, await SampleAsync("B.zip", seed: 5));
        Assert.NotEqual(first, await SampleAsync("C.zip", seed: 6));
        Assert.Empty(Directory.GetFiles(Folder.Path, "*.part"));

        async Task<byte[]> SampleAsync(string name, int seed)
        {
            var file = Path.Combine(Folder.Path, name);
            Assert.Equal(1000, (await JsonAsync("sample", "--accounts", "1000", "--seed", $"{seed}", file)).Number("accounts"));
            return await File.ReadAllBytesAsync(file);
        }
    }

    [Fact]
    public async Task Each_invalid_setting_is_reported_on_its_own_line()
    {
        Variables["HIBP_SLICELEASE"] = "5";
        Variables["HIBP_BATCHROWS"] = "many";
        var result = await RunAsync("breaches");
        Assert.Equal(1, result.ExitCode);
        Assert.Equal(
            [
                "error: HIBP_BATCHROWS: expected a whole number, found 'many'",
                "error: HIBP_SLICELEASE: expected a duration as hh:mm:ss, found '5'",
            ],
            result.Error.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
    }

    /// <summary>Runs a command line in a shell, with pipes and redirections.</summary>
    private Task<HibpResult> ShellAsync(string line)
    {
        var start = new ProcessStartInfo("bash", ["-c", $"dotnet '{Path.Combine(AppContext.BaseDirectory, "hibp.dll")}' {line}"])
        {
            WorkingDirectory = Folder.Path,
        };
        start.SetVariables(Folder.Path, Variables);
        return start.RunToEndAsync();
    }

    private async Task UntilDoneAsync() => Assert.Equal("done", await Probe.AskUntilAsync(
        "done", async () => Assert.Single((await JsonAsync("status", "Tiny")).List("loads")).Text("state")));

    private static Dictionary<string, string?> StatesOf(JsonElement document) => document.List("checks")
        .ToDictionary(check => check.Text("check")!, check => check.Text("state"));
}
