namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    [Fact]
    public async Task Empty_database_refuses_calls_until_upgraded_and_concurrent_upgrades_succeed()
    {
        for (var round = 0; round < 3; round++)
        {
            var databases = Enumerable.Range(0, 4).Select(_ => OpenAnother($"empty {round}")).ToList();
            Assert.Equal(0, (await databases[0].GetSchemaVersionAsync(None)).Found);
            var refused = await Assert.ThrowsAnyAsync<StoreRefusedException>(() => databases[1].ListLoadsAsync(null, None));
            Assert.Contains("schema", refused.Message, StringComparison.Ordinal);
            await Task.WhenAll(databases.Select(database => Task.Run(() => database.UpgradeAsync(None))));
            Assert.All(
                await Task.WhenAll(databases.Select(database => database.GetSchemaVersionAsync(None))),
                version => Assert.Equal(version.Expected, version.Found));
            Assert.False(await databases[3].HasLoadsAsync(None));
        }
    }

    [Fact]
    public async Task Repeated_upgrade_changes_nothing_and_a_newer_schema_is_refused()
    {
        var load = await IngestAsync(Numbered(4));
        await Database.UpgradeAsync(None);
        var (found, expected) = await Database.GetSchemaVersionAsync(None);
        Assert.Equal(expected, found);
        Assert.True(expected >= 1);
        Assert.Equal(4, (await LoadAsync(load.Id)).Accounts);

        await SetSchemaVersionAsync(expected + 1);
        var another = OpenAnother();
        var refused = await Assert.ThrowsAsync<StoreMismatchException>(() => another.UpgradeAsync(None));
        Assert.Contains($"{expected + 1}", refused.Message, StringComparison.Ordinal);
        Assert.Equal((expected + 1, expected), await another.GetSchemaVersionAsync(None));
    }

    [Fact]
    public async Task First_store_identity_wins()
    {
        Assert.Null(await Database.GetIdentityAsync(None));
        var mine = new StoreIdentity(Guid.Parse("0f0e0d0c-0b0a-0908-0706-050403020100"), 1, 2);
        Assert.Equal(mine, await Database.AddIdentityAsync(mine, None));
        var another = OpenAnother();
        Assert.Equal(mine, await another.AddIdentityAsync(new StoreIdentity(Guid.NewGuid(), 3, 4), None));
        Assert.Equal(mine, await another.GetIdentityAsync(None));
    }

    [Fact]
    public async Task HasLoads_stays_true_after_the_last_load_is_removed()
    {
        Assert.False(await Database.HasLoadsAsync(None));
        var load = await StartAsync();
        Assert.True(await Database.HasLoadsAsync(None));
        await Database.FailLoadAsync(load.Id, "no", None);
        await Database.RemoveBreachAsync("Adobe", None);
        Assert.Empty(await Database.ListLoadsAsync(null, None));
        Assert.True(await Database.HasLoadsAsync(None));
    }

    [Fact]
    public async Task Lock_has_one_owner_until_it_expires_and_a_call_cancelled_before_it_begins_takes_none()
    {
        using var cancelled = new CancellationTokenSource();
        await cancelled.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Database.TryLockAsync("sweep", Other, Lease, cancelled.Token));
        Assert.True(await Database.TryLockAsync("sweep", Me, Lease, None));
        Assert.True(await Database.TryLockAsync("other", Other, Lease, None));
        Assert.False(await Database.TryLockAsync("sweep", Other, Lease, None));
        Time.Advance(Lease / 2);
        Assert.True(await Database.TryLockAsync("sweep", Me, Lease, None));
        Time.Advance(Lease - TimeSpan.FromMilliseconds(1));
        Assert.False(await Database.TryLockAsync("sweep", Other, Lease, None));
        Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.True(await Database.TryLockAsync("sweep", Other, Lease, None));
        await Database.UnlockAsync("sweep", Me, None);
        Assert.False(await Database.TryLockAsync("sweep", Me, Lease, None));
        await Database.UnlockAsync("sweep", Other, None);
        Assert.True(await Database.TryLockAsync("sweep", Me, Lease, None));
    }
}
