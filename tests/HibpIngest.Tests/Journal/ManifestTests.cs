using HibpIngest.Journal.Files;
using HibpIngest.Journal.Manifest;

namespace HibpIngest.Tests.Journal;

/// <summary>Tests the journal's names and documents against their page in docs/.</summary>
public sealed class ManifestTests
{
    private static readonly CancellationToken None = CancellationToken.None;

    [Fact]
    public void Load_folder_is_named_as_documented()
    {
        var load = RecoveryPlanTests.Document(7) with
        {
            Blob = "Adobe.zip",
            ETag = "\"0x8DC1\"",
            Generation = 1,
            StartedAt = DateTimeOffset.FromUnixTimeMilliseconds(1_700_000_000_000),
        };
        var expected = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes("Adobe.zip\n\"0x8DC1\"\n1\n1700000000000")))[..16];
        var folder = JournalNames.Folder(load);
        Assert.Equal($"0000000007-{expected}/", folder);
        var page = DocumentFiles.Read("docs/journal.md");
        Assert.Contains($"`{folder}`", page, StringComparison.Ordinal);
        Assert.Contains($"`{JournalNames.Segment(folder, 1)}`", page, StringComparison.Ordinal);
        Assert.Contains($"`{JournalNames.Document(folder, 42)}`", page, StringComparison.Ordinal);
        Assert.Equal((7, 42, 0), (JournalNames.LoadOf(folder).Value, JournalNames.VersionOf("load.000000000042.json"),
            JournalNames.VersionOf("load.json")));
        Assert.Null(JournalNames.VersionOf("removed.json"));
    }

    [Fact]
    public async Task Documented_load_document_is_read_and_the_newest_version_wins()
    {
        using var folder = new TemporaryFolder();
        var log = new FolderJournal(folder.Path);
        var json = DocumentFiles.Snippets("docs/journal.md", "json").First();
        await WriteAsync(log, "0000000007-a/load.json", json);
        var read = Assert.Single((await JournalManifest.ReadAsync(log, None)).Loads);
        Assert.Equal((JournaledState.Counts, "Adobe", 41), (read.State, read.Document!.Breach, read.Document.Version));
        Assert.Equal("Adobe", BreachMetadata.Parse(Encoding.UTF8.GetBytes(read.Document.Metadata.GetRawText())).Title);
        // Reading and writing a document returns the same bytes.
        await log.WriteAsync("0000000008-a/load.json", read.Document.ToJson(), None);
        Assert.Equal(read.Document.ToJson(), (await JournalManifest.FindAsync(log, "0000000008-a/", None))!.Document!.ToJson());

        await WriteAsync(log, "0000000007-a/load.000000000050.json", json.Replace("\"version\": 41", "\"version\": 50"));
        await WriteAsync(log, "0000000007-a/load.000000000044.json", json.Replace("\"version\": 41", "\"version\": 44"));
        Assert.Equal(50, (await JournalManifest.FindAsync(log, "0000000007-a/", None))!.Document!.Version);
        // The load replaced load 3.
        await WriteAsync(log, "0000000003-a/load.json", json.Replace("\"load\": 7", "\"load\": 3").Replace("[3]", "[]"));
        Assert.Equal(
            [JournaledState.Replaced, JournaledState.Counts, JournaledState.Counts],
            (await JournalManifest.ReadAsync(log, None)).Loads.Select(load => load.State));
        await WriteAsync(log, "0000000009-a/000000000001.alog", "x");
        await WriteAsync(
            log, "0000000007-a/removed.json",
            """{"format":1,"store":"0f8fad5b-d9cb-469f-a165-70867728950e","load":7,"mark":5,"replaces":[3]}""");
        await log.DeleteAsync("0000000008-a/load.json", None);
        await WriteAsync(log, "notes.txt", "somebody's");
        Assert.Equal(
            [JournaledState.Replaced, JournaledState.Removed, JournaledState.Begun],
            (await JournalManifest.ReadAsync(log, None)).Loads.Select(load => load.State));
    }

    [Theory]
    [InlineData("{", "byte")]
    [InlineData("{}", "not a valid document")]
    [InlineData("null", "format none")]
    public async Task Unreadable_document_is_named_in_the_error(string json, string reason)
    {
        using var folder = new TemporaryFolder();
        var log = new FolderJournal(folder.Path);
        await WriteAsync(log, "0000000007-a/load.json", json);
        var refused = await Assert.ThrowsAsync<BadInputException>(() => JournalManifest.ReadAsync(log, None));
        Assert.Contains("0000000007-a/load.json", refused.Message, StringComparison.Ordinal);
        Assert.Contains(reason, refused.Message, StringComparison.Ordinal);
    }

    private static async Task WriteAsync(FolderJournal log, string name, string text) =>
        Assert.True(await log.WriteAsync(name, Encoding.UTF8.GetBytes(text), None));
}
