using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Setup;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests upgrading a store of schema version 1 (EndToEnd/Store1: its database as SQL, its account table as JSON).</summary>
public sealed class UpgradeTests
{
    [Fact]
    public async Task Upgrade_from_schema_1_keeps_what_was_public_hidden_and_held()
    {
        await using var rig = await OpenStore1Async();
        var context = rig.Context;
        await Refusal.AssertAsync<StoreMismatchException>("hibp database upgrade", () => context.Get<StoreSetup>().EnsureAsync(None));

        await rig.ExecuteAsync("UPDATE loads SET state = 'upserting' WHERE id = 3");
        await Refusal.AssertAsync<NotPossibleException>("load 3", () => context.Database.UpgradeAsync(None));
        Assert.Equal(1, (await context.Database.GetSchemaVersionAsync(None)).Found);
        await rig.ExecuteAsync("UPDATE loads SET state = 'done' WHERE id = 3");

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

        // One of the loads that share a mark can't be assigned to another breach.
        var shared = (await rig.LoadsAsync()).Where(load => load.Breach == "Adobe").Select(load => load.Id).ToList();
        await Refusal.AssertAsync<NotPossibleException>(
            $"shares its mark on the accounts with load {shared[1]}", () => context.Get<AssignLoad>().RunAsync(shared[0], "Other", None));
        Assert.Null(await context.Database.GetBreachAsync("Other", None));

        // A release sends the held mails, and nothing else.
        Assert.Equal(3, await context.Get<MailOperations>().NotifyAsync("Waiting", None));
        await rig.LoadAccountsAsync("New.zip", 0, 1);
        Assert.Equal(
            ["owner@example.net", "owner@example.net", "user0@example.com", "user0@example.com", "user21@example.com"], rig.Recipients());
        var newest = (await rig.LoadsAsync())[^1];
        Assert.Equal((9L, 7, LoadState.Done), (newest.Id.Value, newest.Mark, newest.State));
        Assert.Equal(["b2", "b4", "b5", "b7"], (await rig.TableAsync())["user0@example.com"].Order());
    }

    private static async Task<string[]> FindAsync(PipelineRig rig, string account) =>
        [.. (await rig.FindAsync(account)).Select(breach => breach.Name)];

    private static async Task<PipelineRig> OpenStore1Async()
    {
        var rig = await PipelineRig.NewAsync(options =>
            (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.Ranges) = (20, 10, RangesMode.On));
        var folder = Path.Combine("tests", "HibpIngest.Integration.Tests", "EndToEnd", "Store1");
        // Its rows are not in the order of their references.
        await rig.ExecuteAsync(
            "PRAGMA foreign_keys = OFF;\n" + await File.ReadAllTextAsync(RepositoryFile.Path(Path.Combine(folder, "database.sql"))));

        var accounts = JsonSerializer.Deserialize<Dictionary<string, string[]>>(
            await File.ReadAllTextAsync(RepositoryFile.Path(Path.Combine(folder, "accounts.json"))))!;
        await rig.Context.Table.CreateAsync(None);
        foreach (var (account, marks) in accounts)
        {
            foreach (var mark in marks)
                await rig.Context.Table.UpsertAsync(account.Split('@')[1], int.Parse(mark[1..]), account.Split('@')[0]);
        }
        await rig.Context.Register.CreateAsync(None);
        var id = Guid.Parse((string)(await rig.ExecuteAsync("SELECT id FROM store_identity"))!);
        await rig.Context.Register.AddIdentityAsync(new StoreIdentity(id, 1, 1), None);
        return rig;
    }
}
