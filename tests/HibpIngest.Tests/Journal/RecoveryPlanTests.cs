using System.Text.Json.Nodes;
using HibpIngest.Journal.Files;
using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Tests.Journal;

/// <summary>Tests which of the journal's documents recovery trusts: anything may have been written to the container.</summary>
public sealed class RecoveryPlanTests
{
    private static readonly CancellationToken None = CancellationToken.None;
    private static readonly Guid Store = Guid.Parse("0f8fad5b-d9cb-469f-a165-70867728950e");
    private static readonly DateTimeOffset Start = DateTimeOffset.FromUnixTimeMilliseconds(1_700_000_000_000);

    [Fact]
    public async Task Plan_reads_loads_breaches_and_removals_from_the_newest_documents()
    {
        using var folder = new TemporaryFolder();
        var log = new FolderJournal(folder.Path);
        await WriteAsync(log, Document(3));
        await WriteAsync(log, Document(7) with { Replaces = [3], Version = 12 });
        await WriteAsync(log, Document(9, "ADOBE") with { Version = 60 });
        await WriteAsync(log, Document(11, "Bold"));
        await log.WriteAsync(JournalNames.Folder(Document(5, "Cash")) + JournalNames.Removed, Removal(5, 44, 2).ToJson(), None);
        await log.WriteAsync("0000000021-0123456789abcdef/000000000001.alog", "x"u8.ToArray(), None);
        await log.WriteAsync("2024-01/notes.txt", "x"u8.ToArray(), None);

        var plan = await PlanAsync(log);
        Assert.Empty(plan.Problems);
        Assert.Equal([3L, 7, 9, 11], plan.Loads.Select(load => load.Document.Load));
        Assert.Equal([(3L, 7L), (2L, 5L)], plan.Replaced.Select(pair => (pair.Key.Value, pair.Value.Value)));
        Assert.Equal([5L], plan.Removed.Select(load => load.Removal!.Load));
        Assert.Equal(["0000000021-0123456789abcdef/"], plan.Incomplete);
        Assert.Equal((21L, 44), (plan.Highest.Load, plan.Highest.Mark));
        Assert.Equal([Store], plan.Stores);
        Assert.All(
            plan.Loads.Take(3), load => Assert.Equal(("ADOBE", 60, true), (load.Breach.Name, load.Breach.Version, load.Breach.IsReported)));
    }

    public static TheoryData<string, string> Invalid => new()
    {
        { "load", "0" }, { "load", "8388608" }, { "mark", "0" }, { "mark", "2147483647" }, { "mark", "99999999999" }, { "generation", "0" },
        { "version", "1000000000000" }, { "version", "-1" }, { "rows", "0" }, { "rows", "9000000000000000000" }, { "accounts", "6" },
        { "breach", "null" }, { "breach", "\"a@example.com\"" }, { "breach", "\"\"" }, { "blob", "\"a@example.com/x.zip\"" },
        { "etag", "null" }, { "settings", "null" }, { "segments", "null" }, { "segments", "[null]" }, { "segments", "[]" },
        { "segments", """[{"first":2,"last":5,"bytes":1}]""" },
        { "segments", """[{"first":1,"last":2,"bytes":1},{"first":4,"last":5,"bytes":1}]""" },
        { "segments", """[{"first":1,"last":5,"bytes":0}]""" }, { "replaces", "null" }, { "replaces", "[7]" }, { "replaces", "[0]" },
        { "startedAt", "\"0001-01-01T00:00:00Z\"" }, { "publishedAt", "\"2026-01-01T00:00:00.0000001Z\"" },
        { "metadata", """{"Title":7}""" }, { "format", "2" },
    };

    [Theory]
    [MemberData(nameof(Invalid))]
    public async Task Invalid_document_is_reported_in_one_line_and_the_others_are_used(string property, string value)
    {
        using var folder = new TemporaryFolder();
        var log = new FolderJournal(folder.Path);
        await WriteAsync(log, Document(9, "Bold"));
        var json = JsonNode.Parse(Document(7).ToJson())!;
        json[property] = JsonNode.Parse(value);
        await log.WriteAsync(JournalNames.Folder(Document(7)) + JournalNames.Load, Encoding.UTF8.GetBytes(json.ToJsonString()), None);
        var plan = await PlanAsync(log);
        var problem = Assert.Single(plan.Problems);
        Assert.Contains(JournalNames.Folder(Document(7)), problem, StringComparison.Ordinal);
        Assert.DoesNotContain("example.com", problem, StringComparison.Ordinal);
        Assert.Equal([9L], plan.Loads.Select(load => load.Document.Load));
        Assert.Empty(plan.Replaced);
    }

    [Fact]
    public async Task Loads_with_the_same_number_mark_or_archive_are_both_excluded()
    {
        foreach (var (other, what) in new[]
        {
            (Document(7) with { StartedAt = Start.AddSeconds(1), Blob = "Other.zip", Mark = 90 }, "number"),
            (Document(8, "Bold") with { Mark = 7 }, "mark"),
            (Document(8) with { Blob = "Adobe.7.zip" }, "version of an archive"),
        })
        {
            using var folder = new TemporaryFolder();
            var log = new FolderJournal(folder.Path);
            foreach (var document in (JournalLoadDocument[])[Document(7), other, Document(9, "Cash")])
                await WriteAsync(log, document);
            var plan = await PlanAsync(log);
            var problem = Assert.Single(plan.Problems);
            Assert.Contains($"the same {what}", problem, StringComparison.Ordinal);
            Assert.Contains(JournalNames.Folder(other), problem, StringComparison.Ordinal);
            Assert.Contains(JournalNames.Folder(Document(7)), problem, StringComparison.Ordinal);
            Assert.Equal([9L], plan.Loads.Select(load => load.Document.Load));
        }
        // Loads of one breach may share a mark.
        using var shared = new TemporaryFolder();
        var sharedLog = new FolderJournal(shared.Path);
        await WriteAsync(sharedLog, Document(7));
        await WriteAsync(sharedLog, Document(8) with { Mark = 7 });
        Assert.Empty((await PlanAsync(sharedLog)).Problems);
    }

    [Fact]
    public async Task Documents_of_another_store_or_load_are_excluded()
    {
        using var folder = new TemporaryFolder();
        var log = new FolderJournal(folder.Path);
        await WriteAsync(log, Document(7));
        await WriteAsync(log, Document(8, "Bold") with { Store = Guid.NewGuid(), Replaces = [7] });
        foreach (var (number, of) in new[] { ("0000000009", 7L), ("0000000010", 10) })
            await log.WriteAsync($"{number}-0123456789abcdef/load.json", (Document(of) with { Replaces = [1] }).ToJson(), None);
        await log.WriteAsync("9999999999-0123456789abcdef/000000000001.alog", "x"u8.ToArray(), None);
        var plan = await PlanAsync(log);
        Assert.Equal(4, plan.Problems.Count);
        Assert.Equal([7L], plan.Loads.Select(load => load.Document.Load));
        Assert.Empty(plan.Replaced);
        Assert.Equal(7, plan.Highest.Load);
        Assert.Equal(2, RecoveryPlan.Of(await JournalManifest.ReadAsync(log, None, tolerant: true), null).Stores.Count);
    }

    [Theory]
    [InlineData("hidden", null, 5)]
    [InlineData("hidden", "null", 5)]
    [InlineData("metadata", null, 5)]
    [InlineData("metadata", "[]", 5)]
    [InlineData("", null, 50)]
    public async Task Breach_with_unknown_flags_is_hidden(string property, string? value, long version)
    {
        using var folder = new TemporaryFolder();
        var log = new FolderJournal(folder.Path);
        await WriteAsync(log, Document(6) with { Version = 4 });
        var json = JsonNode.Parse(Document(7).ToJson())!.AsObject();
        json.Remove(property);
        if (value is not null)
            json[property] = JsonNode.Parse(value);
        await log.WriteAsync(JournalNames.Folder(Document(7)) + JournalNames.Load, Encoding.UTF8.GetBytes(json.ToJsonString()), None);
        if (version > 5)
            await log.WriteAsync(JournalNames.Document(JournalNames.Folder(Document(7)), version), "{"u8.ToArray(), None);
        var plan = await PlanAsync(log);
        Assert.Equal(version > 5 ? 1 : 0, plan.Problems.Count);
        Assert.All(plan.Loads, load => Assert.Equal(
            (true, false, version), (load.Breach.Hidden, load.Breach.IsReported, load.Breach.Version)));
        Assert.Equal([6L, 7], plan.Loads.Select(load => load.Document.Load));
        // It can also be serialized again.
        Assert.NotEmpty(plan.Loads[1].Document.ToJson());
    }

    private static async Task<RecoveryPlan> PlanAsync(FolderJournal log) =>
        RecoveryPlan.Of(await JournalManifest.ReadAsync(log, None, tolerant: true), Store);

    private static async Task WriteAsync(FolderJournal log, JournalLoadDocument document) =>
        Assert.True(await log.WriteAsync(JournalNames.Folder(document) + JournalNames.Load, document.ToJson(), None));

    private static RemovedDocument Removal(long load, int mark, long replaced) =>
        new() { Store = Store, Load = load, Mark = mark, Replaces = [replaced] };

    internal static JournalLoadDocument Document(long load, string breach = "Adobe") => new()
    {
        Store = Store,
        Load = load,
        Mark = (int)load,
        Breach = breach,
        Blob = $"{breach}.{load}.zip",
        ETag = "\"0x1\"",
        Generation = 1,
        StartedAt = Start,
        Settings = new LoadSettings { ExtractorVersion = 1, TopLevelDomains = "cafe", Limits = new ArchiveLimits(), DedupeCap = 100 },
        Rows = 5,
        Accounts = 5,
        Segments = [new DocumentSegment(1, 5, 400)],
        Replaces = [],
        Version = 5,
        PublishedAt = Start,
        BreachPublishedAt = Start,
        ModifiedAt = Start,
        Hidden = false,
        Metadata = JsonElement.Parse("{}"),
    };
}
