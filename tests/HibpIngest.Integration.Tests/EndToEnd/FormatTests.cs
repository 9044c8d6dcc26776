using System.Formats.Tar;
using HibpIngest.Pipeline.Recovery;
using ICSharpCode.SharpZipLib.Zip;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that every archive format yields the same load through a host, and when resumed from every checkpoint.</summary>
public sealed class FormatTests : CommandTestBase
{
    private const int Each = 300;

    /// <summary>Blob name, and numbered accounts, split over two entries if the format has entries.</summary>
    private static readonly (string Blob, Func<int, byte[]> Make)[] Formats =
    [
        ("Adobe.zip", first => PipelineRig.Zip(("a.csv", Half(first, 0)), ("b.csv", Half(first, 1)))),
        ("Adobe.2.tar", Tar),
        ("Adobe.3.tar.gz", first => ArchiveTesting.Gzip(Tar(first))),
        ("x/Bold.TGZ", first => ArchiveTesting.Gzip(Tar(first))),
        ("Bold.csv", Text),
        ("Canva.txt", first => [.. Encoding.Unicode.GetPreamble(), .. Encoding.Unicode.GetBytes(PipelineRig.Accounts(first, Each))]),
        ("Drizly.sql", Text),
        ("Evony.gz", first => ArchiveTesting.Gzip(Text(first))),
        ("Evony.2.csv.gz", first => ArchiveTesting.Gzip(Text(first))),
        ("Evony.json.gz", first => ArchiveTesting.Gzip(Text(first))),
    ];

    [Fact]
    public async Task Host_loads_every_supported_format()
    {
        Assert.Equal(
            BreachFiles.Extensions.Except([".txt.gz", ".sql.gz"]).Order(StringComparer.Ordinal),
            Formats.Select(format => BreachFiles.ExtensionOf(format.Blob)!).Order(StringComparer.Ordinal));
        await using var host = await StartAsync("ready", "run");
        using (var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance))
        {
            // A description, a logo, and files that aren't breaches.
            foreach (var name in (string[])["Evony.json", "Adobe.png", "readme.md", "other.7z"])
                await account.Blobs.WriteSmallAsync(name, """{"Title":"Described"}"""u8.ToArray(), None);
            foreach (var (index, (blob, make)) in Formats.Index())
                await account.Blobs.UploadAsync(blob, new MemoryStream(make(index * Each)), null, None);
        }
        var json = Folder.Write("Foxit.json", $"[\"{string.Join("\",\"", PipelineRig.Expected(Formats.Length * Each, Each))}\"]");
        var last = await JsonAsync("drop", json, "--wait");
        Assert.Equal((Each, "Foxit"), (last.Number("accounts"), last.Text("breach")));

        await Probe.AskUntilAsync(
            Formats.Length + 1,
            async () => (await JsonAsync("status")).List("loads").Count(load => load.Text("state") is "done" or "failed"));
        Assert.Equal(
            [("Adobe", 3, 900, true), ("Bold", 2, 600, true), ("Canva", 1, 300, false), ("Drizly", 1, 300, false), ("Evony", 3, 900, true),
                ("Foxit", 1, 300, false)],
            (await JsonAsync("breaches")).List("breaches").Select(breach => (
                breach.Text("name"), breach.Number("loads"), breach.Number("accounts"), breach.Flag("accountsAtMost"))));
        Assert.Contains("at most 900", (await RunAsync("breaches")).Succeeded().Output, StringComparison.Ordinal);
        var table = await RawTable.ReadAccountsAsync(Variables["HIBP_STORAGE"], "accounts");
        Assert.Equal(PipelineRig.Expected(0, (Formats.Length + 1) * Each).Order(), table.Keys.Order());
        Assert.All(table.Values, marks => Assert.Single(marks));
    }

    [Fact]
    public async Task Load_resumes_from_each_checkpoint_in_every_format()
    {
        // One batch per invocation: each message resumes from the checkpoint.
        await using var rig = await PipelineRig.StartAsync(
            options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Ingest.TimeBudget) = (70, 35, TimeSpan.FromTicks(1)));
        foreach (var (index, (blob, make)) in Formats.Index())
            await rig.DropAsync(blob, make(index * Each));
        await rig.RunToEndAsync();

        var loads = await rig.LoadsAsync();
        foreach (var (index, (blob, _)) in Formats.Index())
        {
            var load = Assert.Single(loads, load => load.Blob.Name == blob);
            Assert.True((LoadState.Done, (long)Each, 5) == (load.State, load.Accounts, load.Batches), $"{blob}: {load}");
            Assert.Equal(PipelineRig.Expected(index * Each, Each), await rig.RowsAsync(load.Id));
        }
    }

    [Fact]
    public async Task Damaged_archive_reports_its_fault_and_an_upload_of_the_same_name_replaces_it()
    {
        await using var rig = await PipelineRig.StartAsync();
        await rig.DropAsync("Adobe.tar.gz", ArchiveTesting.Gzip(Tar(0))[..^20]);
        await rig.DropAsync("Locked.tar", ArchiveTesting.Tar(("a.zip", ArchiveTesting.Encrypted(
            "secret", 128, CompressionMethod.Deflated, ("a.csv", Text(0))))));
        await rig.RunToEndAsync();
        var loads = await rig.LoadsAsync();
        Assert.Contains("cut off", Assert.Single(loads, load => load.Breach == "Adobe").Error, StringComparison.Ordinal);
        var locked = Assert.Single(loads, load => load.Breach == "Locked");
        Assert.Contains("encrypted", locked.Error, StringComparison.Ordinal);
        Assert.Contains("drop the encrypted zip itself", locked.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("resume", locked.Error, StringComparison.Ordinal);
        Assert.Contains(
            "a password opens the entries of a zip",
            (await Assert.ThrowsAsync<BadInputException>(
                () => rig.Context.Get<ResumeLoad>().RunAsync(locked.Id, restart: false, "secret", None))).Message,
            StringComparison.Ordinal);

        await rig.DropAsync("Adobe.tar.gz", ArchiveTesting.Gzip(Tar(0)));
        await rig.DropAsync("Adobe.csv", Text(Each));
        await rig.RunToEndAsync();
        await rig.DropAsync("Adobe.csv", Text(2 * Each));
        await rig.RunToEndAsync();
        loads = await rig.LoadsAsync();
        // The second csv has replaced the first; the tar is a load of its own.
        Assert.Equal(
            ["Adobe.csv", "Adobe.tar.gz"],
            loads.Where(load => load.PublishedAt is not null).Select(load => load.Blob.Name).Order(StringComparer.Ordinal));
        Assert.Single(loads, load => load is { ReplacedBy: not null, Blob.Name: "Adobe.csv" });
        Assert.Single(await rig.FindAsync(PipelineRig.Expected(0, 1).First()));
        Assert.Empty(await rig.FindAsync(PipelineRig.Expected(Each, 1).First()));
        Assert.Single(await rig.FindAsync(PipelineRig.Expected(2 * Each, 1).First()));
    }

    [Fact]
    public async Task Resumed_load_keeps_its_extractor_version_and_an_unknown_version_is_refused()
    {
        await using var rig = await PipelineRig.StartAsync();
        var tar = ArchiveTesting.Tar(TarEntryFormat.Ustar, ("somebody@example.com", "a@example.com"u8.ToArray()));
        await rig.DropAsync("Old.zip", ArchiveTesting.Zip(true, ("t.tar", tar)));
        var notNow = rig.Context.WithBlobs(() => throw new BadInputException("not now"));
        await PipelineRig.RunToEndAsync(notNow);
        Assert.Equal((LoadState.Failed, 2), ((await rig.LoadAsync(1)).State, (await rig.LoadAsync(1)).Settings.ExtractorVersion));
        await rig.ExecuteAsync(
            """
            UPDATE loads SET settings = replace(settings, '"ExtractorVersion":2', '"ExtractorVersion":1'),
                checkpoint_json = replace(checkpoint_json, '"ByRule":[0,0,0,0,0,0,0,0,0]', '"ByRule":[0,0,0,0,0,0,0,0]')
            """);
        await rig.Context.Get<ResumeLoad>().RunAsync(new(1), restart: false, null, None);
        await rig.RunToEndAsync();
        Assert.Equal((LoadState.Done, 1), ((await rig.LoadAsync(1)).State, (await rig.LoadAsync(1)).Settings.ExtractorVersion));
        Assert.Equal(["a@example.com", "somebody@example.com"], (await rig.TableAsync()).Keys.Order());

        // A new load opens the tar and ignores its names.
        await rig.DropAsync("New.zip", ArchiveTesting.Zip(true, ("t.tar", tar)));
        await rig.RunToEndAsync();
        Assert.Equal((LoadState.Done, 1L), ((await rig.LoadAsync(2)).State, (await rig.LoadAsync(2)).Accounts));

        // A load of a later version is refused.
        await rig.DropAsync("Later.zip", ArchiveTesting.Zip(true, ("t.tar", tar)));
        await PipelineRig.RunToEndAsync(notNow);
        await rig.ExecuteAsync("UPDATE loads SET settings = replace(settings, '\"ExtractorVersion\":2', '\"ExtractorVersion\":3')");
        await rig.Context.Get<ResumeLoad>().RunAsync(new(3), restart: false, null, None);
        await rig.RunToEndAsync();
        Assert.Contains("hibp load resume 3 --restart", (await rig.LoadAsync(3)).Error, StringComparison.Ordinal);
    }

    private static string Half(int first, int half) => PipelineRig.Accounts(first + (half * Each / 2), Each / 2);

    private static byte[] Text(int first) => Encoding.UTF8.GetBytes(PipelineRig.Accounts(first, Each));

    private static byte[] Tar(int first) => ArchiveTesting.Tar(
        TarEntryFormat.Gnu, ("dir/", []), ("dir/a.csv", Encoding.UTF8.GetBytes(Half(first, 0))),
        ("b.csv.gz", ArchiveTesting.Gzip(Encoding.UTF8.GetBytes(Half(first, 1)))));
}
