using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;
using Microsoft.Data.Sqlite;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Tests upgrading a store made before schema version 2 (EndToEnd/Store1: its database as SQL, its account table as
/// JSON).
/// </summary>
public sealed class UpgradeTests
{
    private static readonly CancellationToken None = CancellationToken.None;

    [Fact]
    public async Task Upgrade_from_schema_1_keeps_what_was_public_hidden_and_held()
    {
        await using var rig = await OpenStore1Async();
        var context = rig.Context;
        var old = await Assert.ThrowsAsync<StoreMismatchException>(() => context.Get<StoreSetup>().EnsureAsync(None));
        Assert.Contains("hibp database upgrade", old.Message, StringComparison.Ordinal);

        await ExecuteAsync(rig, "UPDATE loads SET state = 'upserting' WHERE id = 3");
        var open = await Assert.ThrowsAsync<NotPossibleException>(() => context.Database.UpgradeAsync(None));
        Assert.Contains("load 3", open.Message, StringComparison.Ordinal);
        Assert.Equal(1, (await context.Database.GetSchemaVersionAsync(None)).Found);
        await ExecuteAsync(rig, "UPDATE loads SET state = 'done' WHERE id = 3");

        await context.Database.UpgradeAsync(None);
        await context.Get<StoreSetup>().EnsureAsync(None);
        // Its accounts have no ranges, so readers must see ranges as off, even if new stores have them on.
        Assert.Equal(RangesMode.On, rig.Options.Upsert.Ranges);
        Assert.Equal(RangesState.Off, (await context.Register.GetReadLayoutAsync(None))!.Ranges);

        Assert.Equal(["Adobe", "Waiting"], await FindAsync(rig, "user0@example.com"));
        Assert.Equal(["Adobe"], await FindAsync(rig, "user59@d8.example.org"));
        Assert.Equal(["Purged"], await FindAsync(rig, "user102@example.com"));
        await context.Get<BreachOperations>().SetHiddenAsync("Hidden", hidden: false, None);
        Assert.Equal(["Adobe", "Hidden", "Waiting"], await FindAsync(rig, "user12@example.com"));
        Assert.Equal([2, 2, 3, 4, 5, 0, 6], (await rig.LoadsAsync()).Select(load => load.Mark));
        Assert.Equal([2], (await context.Database.GetBreachAsync("Adobe", None))!.Marks);

        // A release sends the held mails, and nothing else.
        Assert.Equal(3, await context.Get<MailOperations>().NotifyAsync("Waiting", None));
        await rig.DropAsync("New.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 1))));
        await rig.RunToEndAsync();
        Assert.Equal(
            ["owner@example.net", "owner@example.net", "user0@example.com", "user0@example.com", "user21@example.com"], rig.Recipients());
        var newest = (await rig.LoadsAsync())[^1];
        Assert.Equal((9L, 7, LoadState.Done), (newest.Id.Value, newest.Mark, newest.State));
        Assert.Equal(["b2", "b4", "b5", "b7"], (await rig.TableAsync())["user0@example.com"].Order());
    }

    [Fact]
    public async Task Loads_that_share_a_mark_are_removed_together()
    {
        await using var rig = await OpenStore1Async();
        await rig.Context.Database.UpgradeAsync(None);
        await rig.Context.Get<StoreSetup>().EnsureAsync(None);
        // One of the loads can't be assigned to another breach, because both share a mark.
        var shared = (await rig.LoadsAsync()).Where(load => load.Breach == "Adobe").ToList();
        Assert.Single(shared.Select(load => load.Mark).Distinct());
        var refused = await Assert.ThrowsAsync<NotPossibleException>(
            () => rig.Context.Get<AssignLoad>().RunAsync(shared[0].Id, "Other", None));
        Assert.Contains($"shares its mark on the accounts with load {shared[1].Id}", refused.Message, StringComparison.Ordinal);
        Assert.Null(await rig.Context.Database.GetBreachAsync("Other", None));

        Assert.Equal(60, (await rig.Context.Get<RemoveBreach>().RunAsync("Adobe", null, None)).Entities);
        Assert.DoesNotContain((await rig.TableAsync()).Values, marks => marks.Contains("b2"));
        Assert.Equal(["Waiting"], await FindAsync(rig, "user0@example.com"));
        Assert.Equal([4, 5, 6, 7, 8], (await rig.LoadsAsync()).Select(load => load.Id.Value));
    }

    private static async Task<string[]> FindAsync(PipelineRig rig, string account) =>
        [.. (await rig.FindAsync(account)).Select(breach => breach.Name)];

    private static async Task<PipelineRig> OpenStore1Async()
    {
        var rig = await PipelineRig.NewAsync(options =>
            (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.Ranges) = (20, 10, RangesMode.On));
        var folder = Path.Combine("tests", "HibpIngest.Integration.Tests", "EndToEnd", "Store1");
        await ExecuteAsync(rig, await File.ReadAllTextAsync(RepositoryFile.Path(Path.Combine(folder, "database.sql"))));

        var accounts = JsonSerializer.Deserialize<Dictionary<string,
            string[]>>(await File.ReadAllTextAsync(RepositoryFile.Path(Path.Combine(folder, "accounts.json"))))!;
        await rig.Context.Table.CreateAsync(None);
        foreach (var (account, marks) in accounts)
        {
            var bytes = Encoding.ASCII.GetBytes(account);
            var at = account.IndexOf('@', StringComparison.Ordinal);
            foreach (var mark in marks)
                await rig.Context.Table.UpsertAsync(
                    bytes.AsMemory(at + 1), new[] { ..at }, bytes, int.Parse(mark[1..]), new TransactionsInFlight(1, None), None);
        }
        await rig.Context.Register.CreateAsync(None);
        await using var connection = new SqliteConnection($"Data Source={rig.DatabaseFile};Pooling=False;Foreign Keys=False");
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = "SELECT id FROM store_identity";
        await rig.Context.Register.AddIdentityAsync(
            new StoreIdentity(Guid.Parse((string)(await command.ExecuteScalarAsync())!), 1, 1), None);
        return rig;
    }

    private static async Task ExecuteAsync(PipelineRig rig, string sql)
    {
        await using var connection = new SqliteConnection($"Data Source={rig.DatabaseFile};Pooling=False;Foreign Keys=False");
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = sql;
        await command.ExecuteNonQueryAsync();
    }
}
