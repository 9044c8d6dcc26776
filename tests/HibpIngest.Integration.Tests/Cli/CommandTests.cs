using System.Diagnostics;
using System.IO.Compression;
using HibpIngest.Hosting;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Sql.Sqlite;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>
/// Tests the commands on a storage account of the emulator and a database file of the test's own; also by spellings of earlier versions
/// (CommandTree.OldSpellings), such as 'log' for 'journal'.
/// </summary>
public sealed class CommandTests : CommandTestBase
{
    private static readonly string[] LoadProperties =
        ["load", "breach", "blob", "state", "accounts", "rejected", "batches", "slices", "notifications", "error", "startedAt",
            "finishedAt", "heldBecause", "published", "logged", "logError", "calls", "removing", "figures"];

    [Fact]
    public async Task Breach_is_dropped_notified_hidden_requeued_purged_and_removed()
    {
        var zip = Zip(
            "dump.zip", string.Join('\n', Enumerable.Range(0, 300).Select(i => $"user{i}@example{i % 7}.com,secret"))
            + "\nbad@localhost\n");
        var subscribers = Folder.Write(
            "subscribers.csv", "email,domain\nUser1@example1.com,\nadmin@example.org,example2.com\nnobody@example.net,\n");
        var import = await JsonAsync("subscribers", "import", subscribers, "--json");
        Assert.Equal((3, 3), (import.GetProperty("read").GetInt32(), import.GetProperty("added").GetInt32()));
        Assert.Equal(3, (await JsonAsync("subscribers", "list", "--json")).GetProperty("subscribers").GetArrayLength());

        await using var host = await StartAsync("ready", "run");

        var load = await JsonAsync(
            "drop", zip, "--breach", "Tiny", "--title", "Tiny Inc", "--domain", "tiny.example", "--date", "2020-01-02", "--data-class",
            "Email addresses", "--data-class", "Passwords",
            "--verified", "--notify", "hold", "--wait", "--json");
        Assert.Equal(LoadProperties, Names(load));
        Assert.Equal(["pending", "queued", "done", "failed"], Names(load.GetProperty("slices")));
        Assert.Equal(("Tiny", "Tiny.zip", "held"), (Text(load, "breach"), Text(load, "blob"), Text(load, "state")));
        Assert.Equal(
            (300, 1, 1, 2), (Number(load, "accounts"), Number(load, "rejected"), Number(load, "batches"), Number(load, "notifications")));
        Assert.Equal(1, Number(load.GetProperty("slices"), "done"));
        Assert.Equal(JsonValueKind.Null, load.GetProperty("error").ValueKind);
        var number = load.GetProperty("load").GetInt64().ToString(System.Globalization.CultureInfo.InvariantCulture);

        // The load is held, so no mail was sent yet; 43 of the numbers below 300 leave 2 when divided by 7.
        var preview = (await JsonAsync("notify", "Tiny", "--dry-run", "--json")).GetProperty("notifications").EnumerateArray()
            .Select(line => (Text(line, "email"), line.GetProperty("domain").GetString(), Number(line, "accounts"))).Order();
        Assert.Equal([("admin@example.org", "example2.com", 43), ("user1@example1.com", null, 1)], preview);
        Assert.Equal(2, Number(await JsonAsync("hold", "tiny", "--json"), "notifications"));
        Assert.Equal(2, Number(await JsonAsync("notify", "tiny", "--json"), "notifications"));
        await UntilDoneAsync();
        Assert.Equal(2, Directory.GetFiles(Path.Combine(Folder.Path, "mail"), "*.eml").Length);
        Assert.Contains("no load of Tiny is held", (await RunAsync("notify", "Tiny")).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains("nothing left to hold", (await RunAsync("hold", "Tiny")).FailedWithOneLine(), StringComparison.Ordinal);

        var found = await JsonAsync("lookup", " USER1@example1.com", "--json");
        Assert.Equal(["account", "breaches"], Names(found));
        Assert.Equal("user1@example1.com", Text(found, "account"));
        var breach = Assert.Single(found.GetProperty("breaches").EnumerateArray());
        Assert.Equal(
            ("Tiny", "Tiny Inc", "tiny.example", "2020-01-02"),
            (Text(breach, "name"), Text(breach, "title"), Text(breach, "domain"), Text(breach, "breachDate")));
        Assert.True(breach.GetProperty("isVerified").GetBoolean());
        Assert.Contains("Tiny (Tiny Inc)", (await RunAsync("lookup", "user1@example1.com")).Succeeded().Output, StringComparison.Ordinal);
        Assert.Contains(
            "in no public breach", (await RunAsync("lookup", "user1@example2.com")).Succeeded().Output, StringComparison.Ordinal);

        // Many accounts, one per line: an invalid line is reported by its number only, and the document is complete all the same.
        var many = await HibpInProcess.RunWithInputAsync(
            Folder.Path, Variables, "USER1@example1.com\n\nnobody@localhost\nuser1@example2.com\n", "lookup", "-", "--json");
        Assert.Equal(1, many.ExitCode);
        Assert.Equal(
            [("user1@example1.com", 1), ("user1@example2.com", 0)],
            many.Json.GetProperty("accounts").EnumerateArray()
                .Select(one => (Text(one, "account"), one.GetProperty("breaches").GetArrayLength())));
        Assert.Equal(3, Number(Assert.Single(many.Json.GetProperty("refused").EnumerateArray()), "line"));
        Assert.Contains("error: 1 of 3 lines", many.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("nobody", many.Error, StringComparison.Ordinal);

        var catalogue = await JsonAsync("catalogue", "publish", "--json");
        Assert.Equal(["version", "breaches", "written", "deleted"], Names(catalogue));
        Assert.Equal((1, 0, 0), (Number(catalogue, "breaches"), Number(catalogue, "written"), Number(catalogue, "deleted")));
        (await RunAsync("breach", "hide", "Tiny")).Succeeded();
        Assert.Contains(
            "with 0 breaches: 0 blobs written, 0 deleted", (await RunAsync("catalogue", "publish")).Succeeded().Output,
            StringComparison.Ordinal);
        Assert.Empty((await JsonAsync("lookup", "user1@example1.com", "--json")).GetProperty("breaches").EnumerateArray());
        (await RunAsync("breach", "show", "tiny")).Succeeded();
        Assert.Single((await JsonAsync("lookup", "user1@example1.com", "--json")).GetProperty("breaches").EnumerateArray());

        var slice = Assert.Single((await JsonAsync("slices", "Tiny", "--json")).GetProperty("slices").EnumerateArray());
        Assert.Equal((1, 300, "done"), (Number(slice, "first"), Number(slice, "last"), Text(slice, "state")));
        Assert.Empty((await JsonAsync("slices", "Tiny", "--failed", "--json")).GetProperty("slices").EnumerateArray());
        Assert.Equal(1, Number(await JsonAsync("requeue", "Tiny", "--slice", "1", "--json"), "requeued"));
        await UntilDoneAsync();
        Assert.Equal(2, Directory.GetFiles(Path.Combine(Folder.Path, "mail"), "*.eml").Length);

        (await RunAsync("log", "write", "--load", number)).Succeeded(); // the host may have done it already
        Assert.Empty((await JsonAsync("purge", "--older-than", "1", "--json")).GetProperty("loads").EnumerateArray());
        Assert.Equal(
            300, Number(Assert.Single((await JsonAsync("purge", number, "--json")).GetProperty("loads").EnumerateArray()), "rows"));
        Assert.Equal(1, Number(await JsonAsync("requeue", "Tiny", "--all", "--json"), "requeued"));
        await UntilDoneAsync();
        Assert.Contains("only failed loads", (await RunAsync("resume", number)).FailedWithOneLine(), StringComparison.Ordinal);

        var empty = await RunAsync("drop", Zip("Nothing.zip", "no account in here"), "--wait", "--json");
        Assert.Equal("failed", Text(empty.Json, "state"));
        Assert.Equal(1, empty.ExitCode);
        Assert.Contains(
            "no account in it", Assert.Single(empty.Error.Split('\n'), line => line.StartsWith("error: ", StringComparison.Ordinal)),
            StringComparison.Ordinal);

        Assert.Equal(300, Number(await JsonAsync("breach", "remove", "Tiny", "--yes", "--json"), "entities"));
        Assert.Empty((await JsonAsync("lookup", "user1@example1.com", "--json")).GetProperty("breaches").EnumerateArray());
        Assert.Equal(
            "Nothing", Text(Assert.Single((await JsonAsync("breaches", "--json")).GetProperty("breaches").EnumerateArray()), "name"));
        Assert.Contains("no breach 'Tiny'", (await RunAsync("status", "Tiny")).FailedWithOneLine(), StringComparison.Ordinal);

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
            var zip = Zip("Tiny.zip", string.Join('\n', Enumerable.Range(0, 300).Select(i => $"user{i}@example{i % 7}.com")));
            (await RunAsync("drop", zip, "--wait")).Succeeded();
            Assert.Contains("--without-log", (await RunAsync("purge", "1")).FailedWithOneLine(), StringComparison.Ordinal);
            Assert.Contains("HIBP_JOURNAL", (await RunAsync("log", "write")).FailedWithOneLine(), StringComparison.Ordinal);
        }
        Variables["HIBP_JOURNAL"] = "on";
        Assert.Empty((await JsonAsync("log", "list", "--json")).GetProperty("loads").EnumerateArray());
        Assert.Contains("load 1 of Tiny is not in the journal", (await RunAsync("status")).Succeeded().Output, StringComparison.Ordinal);
        Assert.Equal("missing", StatesOf(await JsonAsync("doctor", "--json"))["journal"]);
        var unlogged = await RunAsync("log", "verify");
        Assert.Equal(1, unlogged.ExitCode);
        Assert.Contains("load 1 of Tiny is not in the journal", unlogged.Error, StringComparison.Ordinal);
        Assert.Contains("hibp journal write --load 1", (await RunAsync("purge", "1")).FailedWithOneLine(), StringComparison.Ordinal);

        Assert.Equal(300, Number(Assert.Single((await JsonAsync("log", "write", "--json")).GetProperty("loads").EnumerateArray()), "rows"));
        Assert.Empty((await JsonAsync("log", "write", "--json")).GetProperty("loads").EnumerateArray());
        var logged = Assert.Single((await JsonAsync("log", "list", "--json")).GetProperty("loads").EnumerateArray());
        Assert.Equal(("Tiny", "counts", 300), (Text(logged, "breach"), Text(logged, "state"), Number(logged, "rows")));
        var verified = await JsonAsync("log", "verify", "--accounts", "--json");
        Assert.Equal((300, 300), (Number(verified, "rows"), Number(verified, "accounts")));

        var (copy, cold) = (Path.Combine(Folder.Path, "copy"), Path.Combine(Folder.Path, "cold"));
        var copied = await JsonAsync("log", "export", copy, "--json");
        Assert.Equal(copied.ToString(), (await JsonAsync("log", "export", copy, "--json")).ToString());
        var rewritten = await JsonAsync("log", "rewrite", cold, "--json");
        Assert.True(Number(rewritten, "bytes") < Number(copied, "bytes"));
        foreach (var folder in (string[])[copy, cold])
        {
            var there = Assert.Single(await LogContent.ReadAsync(new HibpIngest.Journal.Files.FolderJournal(folder)));
            Assert.Equal(
                Enumerable.Range(0, 300).Select(i => $"user{i}@example{i % 7}.com").Order(StringComparer.Ordinal),
                there.Accounts.Order(StringComparer.Ordinal));
            Assert.Equal(("Tiny", 300), (there.Document!.Breach, there.Document.Rows));
        }

        // An account missing from the table and a missing segment are each reported, and nothing is purged.
        using (var stores = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance))
        {
            await stores.Table.RemoveMarkAsync("example1.com", ["user1"], 1, CancellationToken.None);
            var incomplete = await RunAsync("log", "verify", "--accounts", "--json");
            Assert.Equal(1, incomplete.ExitCode);
            Assert.Contains("1 accounts of load 1", incomplete.Json.GetProperty("faults")[0].GetString(), StringComparison.Ordinal);
            await foreach (var blob in stores.JournalBlobs.ListAsync("", CancellationToken.None))
            {
                if (blob.Name.EndsWith(".alog", StringComparison.Ordinal))
                    await stores.JournalBlobs.DeleteAsync(blob.Name, CancellationToken.None);
            }
        }
        Assert.Contains(".alog", (await RunAsync("log", "verify")).Error, StringComparison.Ordinal);
        Assert.Contains(".alog", (await RunAsync("purge", "1")).FailedWithOneLine(), StringComparison.Ordinal);
        (await RunAsync("log", "write", "--load", "1", "--again")).Succeeded();
        Assert.Equal(300, Number(await JsonAsync("log", "verify", "--json"), "rows"));
    }

    [Fact]
    public async Task Ranges_are_backfilled_under_a_running_host()
    {
        Variables["HIBP_RANGES"] = "off";
        Assert.Contains("does not exist", (await RunAsync("ranges", "fill")).FailedWithOneLine(), StringComparison.Ordinal);
        await using var host = await StartAsync("ready", "run");
        var zip = Zip("Tiny.zip", string.Join('\n', Enumerable.Range(0, 300).Select(i => $"user{i}@example{i % 7}.com")));
        (await RunAsync("drop", zip, "--wait")).Succeeded();
        Assert.Equal("off", Text(await JsonAsync("ranges", "status", "--json"), "ranges"));

        var filled = await JsonAsync("ranges", "fill", "--json");
        Assert.Equal(("on", 300), (Text(filled, "ranges"), Number(filled, "accounts")));
        Assert.True(filled.GetProperty("seconds").GetDouble() > 0);
        var storage = Variables["HIBP_STORAGE"];
        Assert.Equal(
            RawTable.RangesOf(await RawTable.ReadAccountsAsync(storage, "accounts")), await RawTable.ReadRangesAsync(storage, "ranges"));
        Assert.StartsWith("Ranges are on", (await RunAsync("ranges", "status")).Succeeded().Output, StringComparison.Ordinal);
        var again = (await RunAsync("ranges", "fill")).Succeeded();
        Assert.Contains("nothing to write", again.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Status_without_loads_has_empty_lists_in_the_documented_shape()
    {
        await SetUpAsync();
        var status = await JsonAsync("status", "--json");
        Assert.Equal(["loads", "queues", "hosts", "held", "waiting", "removals"], Names(status));
        Assert.Empty(status.GetProperty("loads").EnumerateArray());
        Assert.Equal(
            ["breach-ingest", "breach-slices", "breach-match", "breach-mail", "breach-log", "breach-calls",
                "breach-callbacks", "passwords-import", "passwords-append", "access-rollup", "hibp-commands"],
            status.GetProperty("queues").EnumerateArray().Select(queue => Text(queue, "name")));
        Assert.All(
            status.GetProperty("queues").EnumerateArray(),
            queue => Assert.Equal(["name", "messages", "poison", "role", "hasHost"], Names(queue)));

        // The table was filled from another database.
        Variables["HIBP_DATABASE"] = Path.Combine(Folder.Path, "another.db");
        (await RunAsync("database", "upgrade")).Succeeded();
        Assert.Contains("belongs to another database", (await RunAsync("status")).FailedWithOneLine(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("head -1")]
    [InlineData("head -12")]
    [InlineData("true")]
    public async Task Status_watch_exits_quietly_when_its_reader_closes_the_pipe(string reader)
    {
        await SetUpAsync();
        var (exitCode, output, error) = await ShellAsync($"status --watch | {reader}; exit ${{PIPESTATUS[0]}}");
        // A slow emulator may add a line; nothing else may.
        Assert.Equal(
            (141, ""),
            (exitCode, error.Replace("waiting: the store did not respond within 10 seconds\n", "", StringComparison.Ordinal)));
        Assert.Equal(
            reader == "true" ? 0 : int.Parse(reader.Split('-')[1], System.Globalization.CultureInfo.InvariantCulture),
            output.Split('\n').Length - 1);
    }

    [Fact]
    public async Task Command_succeeds_when_its_reader_closes_the_pipe()
    {
        await SetUpAsync();
        Assert.Equal((0, "", ""), await ShellAsync("status --json | true; exit ${PIPESTATUS[0]}"));
    }

    [Fact]
    public async Task Drop_refuses_invalid_input_before_uploading()
    {
        Assert.Contains(
            "not a zip archive", (await RunAsync("drop", Folder.Write("text.zip", "a,b\nc,d\n")))
            .FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains(
            "not a zip archive", (await RunAsync("drop", Folder.Write("short.zip", "PK"))).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains(
            "ends in .zip", (await RunAsync("drop", Zip("dump.rar", "a@b.example"))).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains(
            "@", (await RunAsync("drop", Zip("x.zip", "a@b.example"), "--breach", "a@b")).FailedWithOneLine(), StringComparison.Ordinal);
        var described = Zip("Described.zip", "a@b.example");
        Folder.Write("Described.json", "{ \"Title\": ");
        Assert.Contains("not JSON", (await RunAsync("drop", described)).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains(
            "HIBP_SECRET_KEY", (await RunAsync("drop", Zip("Locked.zip", "a@b.example"), "--password", "x"))
            .FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains(
            "a password opens the entries of a zip, and 'Open.csv' is not one",
            (await RunAsync("drop", Folder.Write("Open.csv", "a@b.example\n"), "--password", "x"))
            .FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains(
            "is not a text, as its name says: found a zip archive",
            (await RunAsync("drop", Zip("Zipped.csv", "a@b.example"))).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains(
            "empty",
            (await HibpInProcess.RunWithInputAsync(Folder.Path, Variables, "", "drop", Zip("Locked.zip", "a@b.example"),
                "--password-stdin")).FailedWithOneLine(), StringComparison.Ordinal);

        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        await account.Blobs.CreateAsync(CancellationToken.None);
        Assert.Empty(await account.Blobs.ListDropsAsync(CancellationToken.None).ToListAsync());
    }

    [Fact]
    public async Task Drop_uploads_archive_and_metadata_without_a_database()
    {
        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        var first = Zip("Adobe.2.zip", "a@b.example");
        Folder.Write("Adobe.json", "{\"Title\":\"Beside it\",\"IsSensitive\":true}");
        var drop = await JsonAsync("drop", first, "--json");
        Assert.Equal(("Adobe", "Adobe.2.zip"), (Text(drop, "breach"), Text(drop, "blob")));
        var uploaded = await account.Blobs.ReadSmallAsync("Adobe.json", 1000, CancellationToken.None);
        Assert.Equal("{\"Title\":\"Beside it\",\"IsSensitive\":true}", Encoding.UTF8.GetString(uploaded!));

        var second = Zip("whatever.zip", "c@d.example");
        drop = await JsonAsync("drop", second, "--breach", "Site.2", "--stealer-log", "--notify", "hold", "--json");
        Assert.Equal(("Site.2", "Site.2.zip"), (Text(drop, "breach"), Text(drop, "blob")));
        var metadata = Breaches.BreachMetadata.Parse((await account.Blobs.ReadSmallAsync("Site.2.json", 1000, CancellationToken.None))!);
        Assert.Equal(
            ("Site.2", Breaches.BreachFlags.StealerLog, Breaches.NotifyMode.Hold), (metadata.Name, metadata.Flags, metadata.Notify));

        var blobs = await account.Blobs.ListDropsAsync(CancellationToken.None).ToListAsync();
        Assert.Equal(["Adobe.2.zip", "Site.2.zip"], blobs.Select(blob => blob.Version.Name));
        Assert.Equal([new FileInfo(first).Length, new FileInfo(second).Length], blobs.Select(blob => blob.Length));
        Assert.False(File.Exists(Variables["HIBP_DATABASE"]));

        // The same bytes under another name are reported, and loaded only with --again.
        var copy = Folder.Write("Copy.zip", await File.ReadAllBytesAsync(second));
        Assert.Matches(
            @"the same content was already dropped as Site\.2\.zip on \d{4}-\d\d-\d\d; to load it again, add --again",
            (await RunAsync("drop", copy)).FailedWithOneLine());
        Assert.Equal("Copy", Text(await JsonAsync("drop", copy, "--again", "--json"), "breach"));

        // A JSON file given to drop is data; only options describe the breach.
        var json = Folder.Write("Leak.json", "[\"e@f.example\"]");
        drop = await JsonAsync("drop", json, "--json");
        Assert.Equal(("Leak", "Leak.json.gz"), (Text(drop, "breach"), Text(drop, "blob")));
        Assert.Null(await account.Blobs.FindAsync("Leak.json", CancellationToken.None));
        var version = (await account.Blobs.FindAsync("Leak.json.gz", CancellationToken.None))!.Version;
        await using (var gzip = new GZipStream(await account.Blobs.OpenAsync(version, CancellationToken.None), CompressionMode.Decompress))
            Assert.Equal("[\"e@f.example\"]", await new StreamReader(gzip).ReadToEndAsync());
        Assert.Contains("dropped as Leak.json.gz", (await RunAsync("drop", json)).FailedWithOneLine(), StringComparison.Ordinal);
        drop = await JsonAsync("drop", json, "--breach", "Other.2", "--again", "--json");
        Assert.Equal(("Other.2", "Other.2.json.gz"), (Text(drop, "breach"), Text(drop, "blob")));
    }

    [Fact]
    public async Task Poison_messages_are_listed_requeued_and_purged()
    {
        await SetUpAsync();
        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        var poison = account.Queues.Get("breach-slices-poison");
        await poison.SendAsync("{\"load\":1}", TimeSpan.Zero, CancellationToken.None);

        var listed = Assert.Single(
            (await JsonAsync("poison", "list", "breach-slices-poison", "--json")).GetProperty("queues").EnumerateArray());
        Assert.Equal(("breach-slices", 1), (Text(listed, "queue"), Number(listed, "messages")));
        Assert.Equal("{\"load\":1}", Text(Assert.Single(listed.GetProperty("head").EnumerateArray()), "body"));
        Assert.Equal(11, (await JsonAsync("poison", "list", "--json")).GetProperty("queues").GetArrayLength());

        Assert.Equal(1, Number(await JsonAsync("poison", "requeue", "breach-slices", "--json"), "messages"));
        Assert.Equal("{\"load\":1}", Assert.Single(await account.Queues.Get("breach-slices").PeekAsync(32, CancellationToken.None)).Body);

        await poison.SendAsync("{\"load\":2}", TimeSpan.Zero, CancellationToken.None);
        Assert.Equal(1, Number(await JsonAsync("poison", "purge", "breach-slices", "--json"), "messages"));
        Assert.Empty(await poison.PeekAsync(32, CancellationToken.None));
    }

    [Fact]
    public async Task Subscriber_import_with_a_bad_line_imports_nothing()
    {
        var file = Folder.Write("subscribers.csv", "email,domain\ngood@example.com,\nnot an address,\n");
        var refused = await RunAsync("subscribers", "import", file);
        Assert.Equal(1, refused.ExitCode);
        var lines = refused.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal("line 3: the email is not an address", lines[0]);
        Assert.StartsWith("error: 1 line of ", Assert.Single(lines[1..]), StringComparison.Ordinal);
        Assert.Empty((await JsonAsync("subscribers", "list", "--json")).GetProperty("subscribers").EnumerateArray());
    }

    [Fact]
    public async Task Database_upgrade_changes_nothing_the_second_time()
    {
        var first = await JsonAsync("database", "upgrade", "--json");
        Assert.Equal(0, Number(first, "from"));
        Assert.True(Number(first, "to") > 0);
        var second = await JsonAsync("database", "upgrade", "--json");
        Assert.Equal(Number(first, "to"), Number(second, "from"));
    }

    [Fact]
    public async Task Lookup_of_an_invalid_address_fails_without_repeating_it()
    {
        await SetUpAsync();
        var line = (await RunAsync("lookup", "somebody@nowhere")).FailedWithOneLine();
        Assert.Contains("not a valid address", line, StringComparison.Ordinal);
        Assert.DoesNotContain("somebody", line, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Doctor_reports_each_state_and_fails_when_a_required_check_is_broken()
    {
        await SetUpAsync();
        var well = await JsonAsync("doctor", "--json");
        Assert.True(well.GetProperty("ok").GetBoolean());
        Assert.DoesNotContain(well.GetProperty("checks").EnumerateArray(), check => Text(check, "state") == "broken");

        // Database and register are compared, and each layout with its expected content.
        await using (var database = SqliteBreachDatabase.Open(Path.Combine(Folder.Path, "hibp.db"), TimeProvider.System))
        {
            var facts = new LayoutFacts { AccountsTable = "accountswide", RangesTable = "rangeswide" };
            await database.AddLayoutAsync(new StoreLayout { Id = 2, Ranges = RangesState.Off, Facts = facts }, CancellationToken.None);
            await database.SetRebuildAsync(2, "{}", CancellationToken.None);
        }
        Assert.Equal("broken", StatesOf((await RunAsync("doctor", "--json")).Json)["layouts"]);
        await SetUpAsync();
        var open = StatesOf((await RunAsync("doctor", "--json")).Json);
        Assert.Equal(("ok", "missing"), (open["layouts"], open["layout wide"]));

        // The service responds, and refuses the wrong key.
        var key = "AccountKey=";
        var connection = Variables["HIBP_STORAGE"];
        var at = connection.IndexOf(key, StringComparison.Ordinal) + key.Length;
        Variables["HIBP_STORAGE"] = connection[..at] + Convert.ToBase64String(new byte[64]) + connection[connection.IndexOf(';', at)..];
        Variables["HIBP_MAILPERSECOND"] = "10";
        var ill = await RunAsync("doctor", "--json");
        Assert.Equal(1, ill.ExitCode);
        var states = StatesOf(ill.Json);
        Assert.Equal(
            ("broken", "broken", "broken", "ok", "missing"),
            (states["blobs"], states["queues"], states["tables"], states["database"], states["settings"]));
        Assert.DoesNotContain(Convert.ToBase64String(new byte[64]), ill.Output + ill.Error, StringComparison.Ordinal);
        Assert.Contains("error: ", ill.Error, StringComparison.Ordinal);

        (await RunAsync("status")).FailedWithOneLine();
    }

    [Fact]
    public async Task Doctor_lists_every_check_once_when_no_store_responds()
    {
        await SetUpAsync();
        var well = StatesOf(await JsonAsync("doctor", "--json"));

        // Every host refuses an empty database with tables that another database has filled.
        var zip = Zip("Tiny.zip", "user1@example.com");
        await using (var host = await StartAsync("ready", "run"))
            (await RunAsync("drop", zip, "--wait")).Succeeded();
        var database = Variables["HIBP_DATABASE"];
        Variables["HIBP_DATABASE"] = Path.Combine(Folder.Path, "fresh.db");
        var fresh = await RunAsync("doctor", "--json");
        Assert.Equal((1, "broken"), (fresh.ExitCode, StatesOf(fresh.Json)["identity"]));

        // Ports that refuse connections.
        Variables["HIBP_DATABASE"] = database;
        Variables["HIBP_STORAGE"] = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey="
            + $"{Convert.ToBase64String(new byte[64])};BlobEndpoint=http://127.0.0.1:1/a;QueueEndpoint=http://127.0.0.1:1/a;"
            + "TableEndpoint=http://127.0.0.1:1/a;";
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

    private static Dictionary<string, string> StatesOf(JsonElement document) => document.GetProperty("checks").EnumerateArray()
        .ToDictionary(check => Text(check, "check"), check => Text(check, "state"));

    [Fact]
    public async Task Sample_is_identical_for_the_same_seed()
    {
        var written = await JsonAsync("sample", "--accounts", "1000", "--seed", "5", Path.Combine(Folder.Path, "A.zip"), "--json");
        Assert.Equal(1000, Number(written, "accounts"));
        (await RunAsync("sample", "--accounts", "1000", "--seed", "5", Path.Combine(Folder.Path, "B.zip"))).Succeeded();
        (await RunAsync("sample", "--accounts", "1000", "--seed", "6", Path.Combine(Folder.Path, "C.zip"))).Succeeded();
        Assert.Equal(File.ReadAllBytes(Path.Combine(Folder.Path, "A.zip")), File.ReadAllBytes(Path.Combine(Folder.Path, "B.zip")));
        Assert.NotEqual(File.ReadAllBytes(Path.Combine(Folder.Path, "A.zip")), File.ReadAllBytes(Path.Combine(Folder.Path, "C.zip")));
        Assert.Empty(Directory.GetFiles(Folder.Path, "*.part"));
    }

    /// <summary>Runs a command line in a shell, with pipes and redirections.</summary>
    private async Task<(int ExitCode, string Output, string Error)> ShellAsync(string line)
    {
        var start = new ProcessStartInfo("bash", ["-c", $"dotnet '{Path.Combine(AppContext.BaseDirectory, "hibp.dll")}' {line}"])
        {
            WorkingDirectory = Folder.Path,
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment[HomeFolder.Variable] = Path.Combine(Folder.Path, ".hibp");
        foreach (var (name, value) in Variables)
            start.Environment[name] = value;
        using var shell = Process.Start(start)!;
        try
        {
            var output = shell.StandardOutput.ReadToEndAsync();
            var error = shell.StandardError.ReadToEndAsync();
            await shell.WaitForExitAsync().WaitAsync(TimeSpan.FromMinutes(1));
            return (shell.ExitCode, await output, await error);
        }
        finally
        {
            shell.Kill(entireProcessTree: true);
        }
    }

    private async Task UntilDoneAsync()
    {
        Assert.Equal("done", await Probe.AskUntilAsync("done", async () => Text(
            Assert.Single((await JsonAsync("status", "Tiny", "--json")).GetProperty("loads").EnumerateArray()), "state")));
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

    private string Zip(string name, string text)
    {
        using var bytes = new MemoryStream();
        using (var zip = new ZipArchive(bytes, ZipArchiveMode.Create, leaveOpen: true))
        using (var entry = new StreamWriter(zip.CreateEntry("dump.csv").Open()))
            entry.Write(text);
        return Folder.Write(name, bytes.ToArray());
    }

    private async Task<JsonElement> JsonAsync(params string[] arguments) => (await RunAsync(arguments)).Succeeded().Json;

    private static IEnumerable<string> Names(JsonElement element) => element.EnumerateObject().Select(property => property.Name);

    private static string Text(JsonElement element, string property) => element.GetProperty(property).GetString()!;

    private static long Number(JsonElement element, string property) => element.GetProperty(property).GetInt64();
}
