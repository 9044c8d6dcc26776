using HibpIngest.Storage.Sql;
using HibpIngest.Storage.Sql.SqlServer;
using Microsoft.Data.SqlClient;

namespace HibpIngest.SqlServer.Tests;

public sealed partial class SqlServerBreachDatabaseTests
{
    /// <summary>Rows of version 1: two loads of one breach, one failed before its first batch, and the id of a removed one.</summary>
    private const string Store1 =
        """
        INSERT INTO dbo.store_identity VALUES (1, '0f0e0d0c-0b0a-0908-0706-050403020100', 1, 1);
        UPDATE dbo.breach_ids SET highest = 3, loads_removed = 1;
        INSERT INTO dbo.breaches (folded_name, name, id, metadata, hidden, published_at)
            VALUES (N'ADOBE', N'Adobe', 2, N'{"Title":"Adobe Systems","IsVerified":true}', 0, '2024-01-02'),
                (N'BROKEN', N'Broken', NULL, N'{}', 1, NULL);
        INSERT INTO dbo.loads (breach, blob, etag, blob_version, generation, state, settings, checkpoint_json, accounts, last_position,
            batches, slices, ingest_complete, started_at)
        SELECT breach_key, N'Adobe.zip', N'"1"', CAST(0x01 AS binary(32)), 1, 'done', N'{settings}', N'{}', 4, 4, 1, 1, 1, '2024-01-01'
            FROM dbo.breaches WHERE id = 2;
        INSERT INTO dbo.loads (breach, blob, etag, blob_version, generation, state, settings, checkpoint_json, accounts, last_position,
            batches, slices, ingest_complete, started_at)
        SELECT breach_key, N'Adobe.2.zip', N'"2"', CAST(0x02 AS binary(32)), 1, 'held', N'{settings}', N'{}', 4, 4, 1, 1, 1, '2024-01-01'
            FROM dbo.breaches WHERE id = 2;
        INSERT INTO dbo.loads (breach, blob, etag, blob_version, generation, state, failed_in, error, settings, checkpoint_json, started_at)
        SELECT breach_key, N'Broken.zip', N'"3"', CAST(0x03 AS binary(32)), 1, 'failed', 'ingesting', N'no zip', N'{settings}', N'{}',
            '2024-01-01' FROM dbo.breaches WHERE name = N'Broken';
        INSERT INTO dbo.slices (load_id, number, first_position, last_position, row_count, state, entities, pending_since)
            VALUES (1, 1, 1, 4, 4, 'done', 4, '2024-01-01'), (2, 1, 1, 4, 4, 'done', 4, '2024-01-01');
        INSERT INTO dbo.subscribers (email, domain, match_domain, match_alias) VALUES (N'a@example.com', N'', 'example.com', 'a');
        INSERT INTO dbo.notifications (breach, subscriber, load_id, number, accounts, state)
            SELECT breach, 1, id, 1, 1, 'open' FROM dbo.loads WHERE id = 2;
        """;

    [Fact]
    public async Task Upgrade_migrates_a_schema_1_database()
    {
        var name = NameOf("old");
        foreach (var batch in SchemaScripts.Read("SqlServer")[0].Split("\nGO\n"))
        {
            if (batch.Contains("dbo.hibp_schema", StringComparison.Ordinal))
            {
                TestServer.Execute(name, "CREATE TABLE dbo.hibp_schema (version int NOT NULL CONSTRAINT hibp_schema_key PRIMARY KEY, "
                    + "applied_at datetime2(3) NOT NULL)");
                TestServer.Execute(name, "INSERT INTO dbo.hibp_schema VALUES (1, '2024-01-01')");
            }
            TestServer.Execute(name, batch);
        }
        TestServer.Execute(name, Store1.Replace("{settings}", StoredText.ToText(Settings), StringComparison.Ordinal));

        var database = OpenAnother("old");
        Assert.Equal(1, (await database.GetSchemaVersionAsync(None)).Found);
        TestServer.Execute(name, "UPDATE dbo.loads SET state = 'upserting' WHERE id = 1");
        await Assert.ThrowsAsync<NotPossibleException>(() => database.UpgradeAsync(None));
        TestServer.Execute(name, "UPDATE dbo.loads SET state = 'done' WHERE id = 1");
        await database.UpgradeAsync(None);

        Assert.Equal(new StoreIds(3, 3), await database.GetHighestIdsAsync(None));
        var loads = await database.ListLoadsAsync(null, None);
        Assert.Equal(
            [(1L, 2, LoadState.Done), (2L, 2, LoadState.Held), (3L, 0, LoadState.Failed)], loads.Select(
                load => (load.Id.Value, load.Mark, load.State)));
        Assert.Equal([true, true, false], loads.Select(load => load.PublishedAt is not null));
        Assert.Equal((4L, 4L, 1), (loads[1].Accounts, loads[1].Entities, loads[1].Notifications.Open));
        var breach = (await database.GetBreachAsync("adobe", None))!;
        Assert.Equal([2], breach.Marks);
        Assert.Equal(("Adobe Systems", true), (breach.Metadata.Title, breach.IsPublic));
        Assert.True((await database.GetBreachAsync("Broken", None))!.Hidden);
        var next = await database.StartLoadAsync(new NewLoad(new(4), "Adobe", Blob("Adobe.3.zip"), Settings), None);
        Assert.Equal(4, next.Id.Value);
        Assert.True(await database.ReleaseLoadNotificationsAsync(new(2), None));
    }

    [Fact]
    public async Task Completed_copy_returns_its_connection_to_the_pool()
    {
        var load = await StartAsync();
        var single =
            new SqlConnectionStringBuilder(ConnectionTo(MainDatabase))
            {
                MaxPoolSize = 1,
                ConnectTimeout = 5,
                ApplicationName = $"single {Guid.NewGuid():N}"
            }.ConnectionString;
        await using var database = OpenAt(single);
        Assert.True(await database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        await using (var copy = await database.OpenCopyAsync(new BatchCopyOrder(load.Id, Me, 1, SliceRows, Lease), None))
            await copy.CommitAsync(Batch(1, Numbered(4)), new LoadCheckpoint(), false, None);
        // It would wait for the only connection of the pool, and time out.
        Assert.Equal(4, (await database.GetLoadAsync(load.Id, None))!.LastPosition);
    }
}
