namespace HibpIngest.Testing;

/// <summary>The contract of every <see cref="IStoreRegister"/>.</summary>
public abstract class StoreRegisterContract
{
    /// <summary>Returns an existing, empty register.</summary>
    protected abstract Task<IStoreRegister> NewRegisterAsync();

    [Fact]
    public async Task First_store_identity_wins()
    {
        var register = await NewRegisterAsync();
        Assert.Null(await register.GetIdentityAsync(CancellationToken.None));
        var first = new StoreIdentity(Guid.NewGuid(), 1, 2);
        Assert.Equal(first, await register.AddIdentityAsync(first, CancellationToken.None));
        Assert.Equal(first, await register.AddIdentityAsync(new StoreIdentity(Guid.NewGuid(), 3, 4), CancellationToken.None));
        await register.CreateAsync(CancellationToken.None);
        Assert.Equal(first, await register.GetIdentityAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Identities_added_concurrently_agree()
    {
        var register = await NewRegisterAsync();
        var agreed = await Task.WhenAll(
            Enumerable.Range(0, 8).Select(_ => register.AddIdentityAsync(new StoreIdentity(Guid.NewGuid(), 1, 1), CancellationToken.None)));
        Assert.Single(agreed.Distinct());
    }

    [Fact]
    public async Task Latest_heartbeat_of_each_host_is_listed_until_removed()
    {
        var register = await NewRegisterAsync();
        var at = new DateTimeOffset(2026, 3, 4, 5, 6, 7, TimeSpan.Zero);
        var one = new Heartbeat("aa11", "web-1", 4711, "ingest, upsert", "1.0", at.AddMinutes(1), at.AddMinutes(2), []);
        var other = new Heartbeat(
            "bb22", "web-2", 1, "sweep", "1.0 (abc)", at, at.AddMinutes(3),
            [new BlockedTask(7, "breach-mail", "the server says: \"no\"", at.AddMinutes(4)), new BlockedTask(0, "sweep", "down", at)]);
        Assert.Empty(await register.ListHeartbeatsAsync(CancellationToken.None));
        register.PutHeartbeat(one, CancellationToken.None);
        register.PutHeartbeat(other, CancellationToken.None);
        var later = one with { SeenAt = at.AddHours(1), Troubles = other.Troubles };
        register.PutHeartbeat(later, CancellationToken.None);
        var heartbeats = await register.ListHeartbeatsAsync(CancellationToken.None);
        Assert.Equal(["bb22", "aa11"], heartbeats.Select(heartbeat => heartbeat.Host));
        foreach (var (expected, heartbeat) in new[] { other, later }.Zip(heartbeats))
        {
            Assert.Equal(expected.Troubles, heartbeat.Troubles);
            Assert.Equal(expected, heartbeat with { Troubles = expected.Troubles, RequestedAt = null, ReadLatency = default });
            Assert.NotNull(heartbeat.RequestedAt);
            Assert.True(heartbeat.ReadLatency > TimeSpan.Zero);
        }
        await register.RemoveHeartbeatAsync("bb22", CancellationToken.None);
        await register.RemoveHeartbeatAsync("bb22", CancellationToken.None);
        Assert.Equal("aa11", Assert.Single(await register.ListHeartbeatsAsync(CancellationToken.None)).Host);
    }

    [Fact]
    public async Task First_layout_marked_for_reading_wins()
    {
        var register = await NewRegisterAsync();
        Assert.Null(await register.GetReadLayoutAsync(CancellationToken.None));
        var first = new StoreLayout { Id = 1, Ranges = RangesState.Off };
        var second = first with { Id = 2, Facts = new LayoutFacts { AccountsTable = "accounts2", StorageAccounts = [1, 2] } };
        await register.PutLayoutAsync(second, CancellationToken.None);
        await register.PutLayoutAsync(first, CancellationToken.None);
        Assert.Null(await register.GetReadLayoutAsync(CancellationToken.None));
        await register.AddReadLayoutAsync(1, CancellationToken.None);
        await register.AddReadLayoutAsync(2, CancellationToken.None);
        Assert.Equal(first, await register.GetReadLayoutAsync(CancellationToken.None));
        Assert.Equal([first, second], await register.ListLayoutsAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Put_only_raises_the_ranges_state_and_refuses_changed_facts()
    {
        var register = await NewRegisterAsync();
        var layout = new StoreLayout { Id = 1, Ranges = RangesState.Off };
        await register.AddReadLayoutAsync(1, CancellationToken.None);
        foreach (var (put, becomes) in new[]
        {
            (RangesState.Off, RangesState.Off), (RangesState.Filling, RangesState.Filling), (RangesState.Off, RangesState.Filling),
            (RangesState.On, RangesState.On), (RangesState.Filling, RangesState.On),
        })
        {
            await register.PutLayoutAsync(layout with { Ranges = put }, CancellationToken.None);
            Assert.Equal(layout with { Ranges = becomes }, await register.GetReadLayoutAsync(CancellationToken.None));
        }
        await Assert.ThrowsAsync<StoreMismatchException>(() => register.PutLayoutAsync(
            layout with { Facts = new LayoutFacts { AccountsTable = "other" } }, CancellationToken.None));
    }

    [Fact]
    public async Task Read_layout_switches_only_from_the_current_one()
    {
        var register = await NewRegisterAsync();
        var layouts = Enumerable.Range(1, 3).Select(id => new StoreLayout
        {
            Id = id,
            Ranges = RangesState.On,
            Facts = new LayoutFacts { AccountsTable = $"accounts{id}" },
        }).ToList();
        foreach (var layout in layouts)
            await register.PutLayoutAsync(layout, CancellationToken.None);
        Assert.False(await register.TrySwitchAsync(1, 2, CancellationToken.None)); // no layout is read yet
        await register.AddReadLayoutAsync(1, CancellationToken.None);
        Assert.False(await register.TrySwitchAsync(2, 3, CancellationToken.None));
        var switched = await Task.WhenAll(
            Enumerable.Range(0, 8).Select(i => register.TrySwitchAsync(1, 2 + (i % 2), CancellationToken.None)));
        var read = await register.GetReadLayoutAsync(CancellationToken.None);
        Assert.Contains(read, layouts.Skip(1));
        Assert.Contains(true, switched);
        Assert.All(switched.Select((done, i) => (done, i)), one => Assert.True(!one.done || 2 + (one.i % 2) == read!.Id));
        Assert.True(await register.TrySwitchAsync(read!.Id, 1, CancellationToken.None));
        Assert.Equal(layouts[0], await register.GetReadLayoutAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Dropped_layout_stays_dropped()
    {
        var register = await NewRegisterAsync();
        var layout = new StoreLayout { Id = 2, Ranges = RangesState.Filling };
        await register.PutLayoutAsync(layout, CancellationToken.None);
        await register.PutLayoutAsync(layout with { IsDropped = true, Ranges = RangesState.Off }, CancellationToken.None);
        await register.PutLayoutAsync(layout, CancellationToken.None);
        Assert.Equal([layout with { IsDropped = true }], await register.ListLayoutsAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Concurrent_puts_of_a_layout_keep_the_highest_ranges_state()
    {
        var register = await NewRegisterAsync();
        await register.AddReadLayoutAsync(1, CancellationToken.None);
        await Task.WhenAll(Enumerable.Range(0, 9).Select(i =>
            register.PutLayoutAsync(new StoreLayout { Id = 1, Ranges = (RangesState)(i % 3) }, CancellationToken.None)));
        Assert.Equal(RangesState.On, (await register.GetReadLayoutAsync(CancellationToken.None))!.Ranges);
    }

    [Fact]
    public async Task Open_mark_is_cleared_only_at_the_version_read()
    {
        var register = await NewRegisterAsync();
        await register.MarkOpenAsync(new(7), CancellationToken.None);
        await register.MarkOpenAsync(new(12), CancellationToken.None);
        var open = await register.ListOpenAsync(CancellationToken.None);
        Assert.Equal([7, 12], open.Select(mark => mark.Load.Value));

        await register.MarkOpenAsync(new(7), CancellationToken.None);
        await register.ClearOpenAsync(new(7), open[0].Version, CancellationToken.None);
        await register.ClearOpenAsync(new(12), open[1].Version, CancellationToken.None);
        await register.ClearOpenAsync(new(12), open[1].Version, CancellationToken.None);
        var left = Assert.Single(await register.ListOpenAsync(CancellationToken.None));
        Assert.Equal(7, left.Load.Value);
        Assert.NotEqual(open[0].Version, left.Version);
        await register.ClearOpenAsync(new(7), left.Version, CancellationToken.None);
        Assert.Empty(await register.ListOpenAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Each_catalogue_writer_has_its_own_behind_mark()
    {
        var register = await NewRegisterAsync();
        Assert.Empty(await register.ListBehindAsync(CancellationToken.None));
        var noon = new DateTimeOffset(2026, 1, 2, 12, 0, 0, TimeSpan.Zero);
        var late = await register.MarkBehindAsync(noon, CancellationToken.None);
        var early = await register.MarkBehindAsync(noon.AddSeconds(-1), CancellationToken.None);
        Assert.Equal([(early, noon.AddSeconds(-1)), (late, noon)], await register.ListBehindAsync(CancellationToken.None));

        await register.ClearBehindAsync(early, CancellationToken.None);
        await register.ClearBehindAsync(early, CancellationToken.None);
        Assert.Equal([(late, noon)], await register.ListBehindAsync(CancellationToken.None));
        Assert.Empty(await register.ListOpenAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Receipt_covers_one_version_of_one_blob()
    {
        var register = await NewRegisterAsync();
        // A blob's name may contain characters that a table key may not.
        var blob = new BlobVersion("dir/odd#?\\'name\u00e4.zip", "\"0x8D1\"");
        Assert.False(await register.HasReceiptAsync(blob, CancellationToken.None));
        await register.AddReceiptAsync(blob, CancellationToken.None);
        await register.AddReceiptAsync(blob, CancellationToken.None);
        Assert.True(await register.HasReceiptAsync(blob, CancellationToken.None));
        Assert.False(await register.HasReceiptAsync(blob with { ETag = "\"0x8D2\"" }, CancellationToken.None));
        Assert.False(await register.HasReceiptAsync(blob with { Name = "other.zip" }, CancellationToken.None));
        Assert.Empty(await register.ListOpenAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Latest_change_of_a_suppression_wins_and_lifted_ones_are_listed()
    {
        var register = await NewRegisterAsync();
        var at = new DateTimeOffset(2026, 3, 4, 5, 6, 7, TimeSpan.Zero);
        Assert.Null(await register.GetSuppressionKeyCheckAsync(CancellationToken.None));
        Assert.Equal("c0", await register.AddSuppressionKeyCheckAsync("c0", CancellationToken.None));
        Assert.Equal("c0", await register.AddSuppressionKeyCheckAsync("c1", CancellationToken.None));
        // Hashes that sort before and after "check", and two that differ only in the last digit.
        var (low, high, longer) = (new string('0', 64), new string('f', 64), new string('f', 63) + "e");
        var first = new Suppression(low, SuppressionReason.Bounced, at);
        await register.AppendSuppressionAsync(first, lifted: false, CancellationToken.None);
        await register.AppendSuppressionAsync(first with { At = at.AddDays(1) }, lifted: false, CancellationToken.None);
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => register.AppendSuppressionAsync(
            new Suppression(high, SuppressionReason.Forgotten, at), lifted: false, CancellationToken.None)));
        await register.AppendSuppressionAsync(
            new Suppression(longer, SuppressionReason.Complaint, at), lifted: false, CancellationToken.None);
        Assert.Equal([low, longer, high], await HashesAsync());
        Assert.Contains(first, await register.ListSuppressionsAsync(CancellationToken.None)); // repeating it changes nothing

        Assert.Empty(await register.ListLiftedAsync(CancellationToken.None));
        await register.AppendSuppressionAsync(first, lifted: true, CancellationToken.None);
        Assert.Equal([longer, high], await HashesAsync());
        Assert.Equal([low], await register.ListLiftedAsync(CancellationToken.None));
        await register.AppendSuppressionAsync(
            first with { Reason = SuppressionReason.Unsubscribed }, lifted: false, CancellationToken.None);
        Assert.Contains(
            first with { Reason = SuppressionReason.Unsubscribed }, await register.ListSuppressionsAsync(CancellationToken.None));
        Assert.Equal([low, longer, high], await HashesAsync());

        async Task<List<string>> HashesAsync() =>
            [.. (await register.ListSuppressionsAsync(CancellationToken.None)).Select(one => one.Hash).Order(StringComparer.Ordinal)];
    }
}
