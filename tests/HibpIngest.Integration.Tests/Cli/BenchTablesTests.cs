using Azure.Data.Tables;
using HibpIngest.Cli.Output;
using Shown = HibpIngest.Cli.Output.Documents;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests 'hibp bench tables' against the emulator, with a few requests.</summary>
public sealed class BenchTablesTests : CommandTestBase
{
    private TableServiceClient Tables => new(Variables["HIBP_STORAGE"]);

    [Fact]
    public async Task Run_measures_everything_and_leaves_no_table()
    {
        var file = Path.Combine(Folder.Path, "tables.json");
        var run = (await RunAsync("bench", "tables", "--requests", "2", "--yes", "--json", "--output", file)).Succeeded();
        Assert.Contains("at most 130 requests", run.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("holds a store", run.Error, StringComparison.Ordinal);
        Assert.Equal(run.Output.TrimEnd(), await File.ReadAllTextAsync(file));
        // The schema is that of the type.
        Assert.Equal(
            run.Output.TrimEnd(),
            JsonSerializer.Serialize(JsonSerializer.Deserialize<BenchDocument>(run.Output, Shown.Options), Shown.Options));
        var measured = run.Json.List("measurements");
        Assert.Equal(64, measured.Count);
        Assert.All(measured, one =>
        {
            Assert.Equal((2, 2 * one.Number("rows")), (one.Number("requests"), one.Number("entities")));
            Assert.True(one.GetProperty("p50Milliseconds").GetDouble() > 0);
        });
        Assert.False(run.Json.Flag("holdsStore"));
        Assert.Equal(5, run.Json.List("comparison").Count);
        Assert.Empty(Tables.Query());
        Assert.Equal([file], Directory.GetFiles(Folder.Path, "tables*"));
    }

    [Fact]
    public async Task Interrupted_run_leaves_neither_a_table_nor_a_file()
    {
        await using var run = await StartAsync(
            "measuring: merge", "bench", "tables", "--requests", "50", "--yes", "--output", Path.Combine(Folder.Path, "tables.json"));
        Assert.Single(Tables.Query());
        Assert.Equal(143, (await run.TerminateAsync()).ExitCode);
        Assert.Empty(Tables.Query());
        Assert.Empty(Directory.GetFiles(Folder.Path, "tables*"));
    }

    [Fact]
    public async Task Clean_deletes_the_tables_of_killed_runs_alone()
    {
        foreach (var name in (string[])["hibpbench0123456789ab", "hibpbenchmarks", "other"])
            await Tables.CreateTableAsync(name);
        (await RunAsync("bench", "tables", "--clean")).Printed("1 table of killed runs deleted: hibpbench0123456789ab");
        Assert.Equal(["hibpbenchmarks", "other"], Tables.Query().Select(table => table.Name).Order());
        (await RunAsync("bench", "tables", "--clean")).Printed("no tables");
    }

    [Fact]
    public async Task Run_on_an_account_with_a_store_warns_and_without_yes_is_refused()
    {
        await SetUpAsync();
        var before = Tables.Query().Select(table => table.Name).ToList();
        var refused = await RunAsync("bench", "tables");
        Assert.Equal(2, refused.ExitCode);
        Assert.Contains("to run 'bench tables' without one, add --yes", refused.Error, StringComparison.Ordinal);
        Assert.Equal(2, (await RunAsync("bench", "tables", "--clean", "--seconds", "3")).ExitCode);

        var run = (await RunAsync("bench", "tables", "--requests", "1", "--yes", "--advise")).Printed("HIBP_TRANSACTIONSINFLIGHT=");
        Assert.Contains("holds a store", run.Error, StringComparison.Ordinal);
        Assert.Equal(before, Tables.Query().Select(table => table.Name));
    }
}
