namespace HibpIngest.Testing;

public abstract class StoreRegisterContract
{
    /// <summary>Returns an existing, empty register.</summary>
    protected abstract Task<IStoreRegister> NewRegisterAsync();

    [Fact]
    public async Task First_store_identity_wins()
    {
        var register = await NewRegisterAsync();
        Assert.Null(await register.GetIdentityAsync(None));
        StoreIdentity[] added = [.. Enumerable.Range(1, 8).Select(i => new StoreIdentity(Guid.NewGuid(), i, 2))];
        var agreed = await Task.WhenAll(added.Select(one => register.AddIdentityAsync(one, None)));
        var first = Assert.Single(agreed.Distinct());
        Assert.Contains(first, added);
        await register.CreateAsync(None);
        Assert.Equal(first, await register.AddIdentityAsync(new StoreIdentity(Guid.NewGuid(), 3, 4), None));
        Assert.Equal(first, await register.GetIdentityAsync(None));
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
        Assert.Empty(await register.ListHeartbeatsAsync(None));
        register.PutHeartbeat(one, None);
        register.PutHeartbeat(other, None);
        var later = one with { SeenAt = at.AddHours(1), Troubles = other.Troubles };
        register.PutHeartbeat(later, None);
        var heartbeats = await register.ListHeartbeatsAsync(None);
        Assert.Equal(["bb22", "aa11"], heartbeats.Select(heartbeat => heartbeat.Host));
        foreach (var (expected, heartbeat) in new[] { other, later }.Zip(heartbeats))
        {
            Assert.Equal(expected.Troubles, heartbeat.Troubles);
            Assert.Equal(expected, heartbeat with { Troubles = expected.Troubles, RequestedAt = null, ReadLatency = default });
            Assert.NotNull(heartbeat.RequestedAt);
            Assert.True(heartbeat.ReadLatency > TimeSpan.Zero);
        }
        await register.RemoveHeartbeatAsync("bb22", None);
        await register.RemoveHeartbeatAsync("bb22", None);
        Assert.Equal("aa11", Assert.Single(await register.ListHeartbeatsAsync(None)).Host);
    }

    [Fact]
    public async Task First_layout_marked_for_reading_wins()
    {
        var register = await NewRegisterAsync();
        Assert.Null(await register.GetReadLayoutAsync(None));
        var first = new StoreLayout { Id = 1, Ranges = RangesState.Off };
        var second = first with { Id = 2, Facts = new LayoutFacts { AccountsTable = "accounts2", StorageAccounts = [1, 2] } };
        await register.PutLayoutAsync(second, None);
        await register.PutLayoutAsync(first, None);
        Assert.Null(await register.GetReadLayoutAsync(None));
        await register.AddReadLayoutAsync(1, None);
        await register.AddReadLayoutAsync(2, None);
        Assert.Equal(first, await register.GetReadLayoutAsync(None));
        Assert.Equal([first, second], await register.ListLayoutsAsync(None));
    }

    [Fact]
    public async Task Put_only_raises_the_ranges_state_refuses_changed_facts_and_keeps_a_layout_dropped()
    {
        var register = await NewRegisterAsync();
        var layout = new StoreLayout { Id = 1, Ranges = RangesState.Off };
        await register.AddReadLayoutAsync(1, None);
        foreach (var (put, becomes) in new[]
        {
            (RangesState.Off, RangesState.Off), (RangesState.Filling, RangesState.Filling), (RangesState.Off, RangesState.Filling),
            (RangesState.On, RangesState.On), (RangesState.Filling, RangesState.On),
        })
        {
            await register.PutLayoutAsync(layout with { Ranges = put }, None);
            Assert.Equal(layout with { Ranges = becomes }, await register.GetReadLayoutAsync(None));
        }
        await Assert.ThrowsAsync<StoreMismatchException>(() => register.PutLayoutAsync(
            layout with { Facts = new LayoutFacts { AccountsTable = "other" } }, None));

        var dropped = new StoreLayout { Id = 2, Ranges = RangesState.Filling };
        await register.PutLayoutAsync(dropped, None);
        await register.PutLayoutAsync(dropped with { IsDropped = true, Ranges = RangesState.Off }, None);
        await register.PutLayoutAsync(dropped, None);
        Assert.Equal(
            [layout with { Ranges = RangesState.On }, dropped with { IsDropped = true }], await register.ListLayoutsAsync(None));
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
            await register.PutLayoutAsync(layout, None);
        Assert.False(await register.TrySwitchAsync(1, 2, None)); // no layout is read yet
        await register.AddReadLayoutAsync(1, None);
        Assert.False(await register.TrySwitchAsync(2, 3, None));
        var switched = await Task.WhenAll(Enumerable.Range(0, 8).Select(i => register.TrySwitchAsync(1, 2 + (i % 2), None)));
        var read = await register.GetReadLayoutAsync(None);
        Assert.Contains(read, layouts.Skip(1));
        Assert.Contains(true, switched);
        Assert.All(switched.Select((done, i) => (done, i)), one => Assert.True(!one.done || 2 + (one.i % 2) == read!.Id));
        Assert.True(await register.TrySwitchAsync(read!.Id, 1, None));
        Assert.Equal(layouts[0], await register.GetReadLayoutAsync(None));
    }

    [Fact]
    public async Task Concurrent_puts_of_a_layout_keep_the_highest_ranges_state()
    {
        var register = await NewRegisterAsync();
        await register.AddReadLayoutAsync(1, None);
        await Task.WhenAll(Enumerable.Range(0, 9).Select(i =>
            register.PutLayoutAsync(new StoreLayout { Id = 1, Ranges = (RangesState)(i % 3) }, None)));
        Assert.Equal(RangesState.On, (await register.GetReadLayoutAsync(None))!.Ranges);
    }

    [Fact]
    public async Task Open_mark_is_cleared_only_at_the_version_read()
    {
        var register = await NewRegisterAsync();
        await register.MarkOpenAsync(new(7), None);
        await register.MarkOpenAsync(new(12), None);
        var open = await register.ListOpenAsync(None);
        Assert.Equal([7, 12], open.Select(mark => mark.Load.Value));

        await register.MarkOpenAsync(new(7), None);
        await register.ClearOpenAsync(new(7), open[0].Version, None);
        await register.ClearOpenAsync(new(12), open[1].Version, None);
        await register.ClearOpenAsync(new(12), open[1].Version, None);
        var left = Assert.Single(await register.ListOpenAsync(None));
        Assert.Equal(7, left.Load.Value);
        Assert.NotEqual(open[0].Version, left.Version);
        await register.ClearOpenAsync(new(7), left.Version, None);
        Assert.Empty(await register.ListOpenAsync(None));
    }

    [Fact]
    public async Task Each_catalogue_writer_has_its_own_behind_mark()
    {
        var register = await NewRegisterAsync();
        Assert.Empty(await register.ListStaleMarksAsync(None));
        var noon = new DateTimeOffset(2026, 1, 2, 12, 0, 0, TimeSpan.Zero);
        var late = await register.SetStaleMarkAsync(noon, None);
        var early = await register.SetStaleMarkAsync(noon.AddSeconds(-1), None);
        Assert.Equal([(early, noon.AddSeconds(-1)), (late, noon)], await register.ListStaleMarksAsync(None));

        await register.ClearStaleMarkAsync(early, None);
        await register.ClearStaleMarkAsync(early, None);
        Assert.Equal([(late, noon)], await register.ListStaleMarksAsync(None));
        Assert.Empty(await register.ListOpenAsync(None));
    }

    [Fact]
    public async Task Receipt_covers_one_version_of_one_blob()
    {
        var register = await NewRegisterAsync();
        // A blob's name may contain characters that a table key may not.
        var blob = new BlobVersion("dir/odd#?\\'name\u00e4.zip", "\"0x8D1\"");
        Assert.False(await register.HasReceiptAsync(blob, None));
        await register.AddReceiptAsync(blob, None);
        await register.AddReceiptAsync(blob, None);
        Assert.True(await register.HasReceiptAsync(blob, None));
        Assert.False(await register.HasReceiptAsync(blob with { ETag = "\"0x8D2\"" }, None));
        Assert.False(await register.HasReceiptAsync(blob with { Name = "other.zip" }, None));
        Assert.Empty(await register.ListOpenAsync(None));
    }

    [Fact]
    public async Task Latest_change_of_a_suppression_wins_and_lifted_ones_are_listed()
    {
        var register = await NewRegisterAsync();
        var at = new DateTimeOffset(2026, 3, 4, 5, 6, 7, TimeSpan.Zero);
        Assert.Null(await register.GetSuppressionKeyCheckAsync(None));
        Assert.Equal("c0", await register.AddSuppressionKeyCheckAsync("c0", None));
        Assert.Equal("c0", await register.AddSuppressionKeyCheckAsync("c1", None));
        // Hashes that sort before and after "check", and two that differ only in the last digit.
        var (low, high, longer) = (new string('0', 64), new string('f', 64), new string('f', 63) + "e");
        var first = new Suppression(low, SuppressionReason.Bounced, at);
        await register.AppendSuppressionAsync(first, lifted: false, None);
        await register.AppendSuppressionAsync(first with { At = at.AddDays(1) }, lifted: false, None);
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => register.AppendSuppressionAsync(
            new Suppression(high, SuppressionReason.Forgotten, at), lifted: false, None)));
        await register.AppendSuppressionAsync(new Suppression(longer, SuppressionReason.Complaint, at), lifted: false, None);
        Assert.Equal([low, longer, high], await HashesAsync());
        Assert.Contains(first, await register.ListSuppressionsAsync(None)); // repeating it changes nothing

        Assert.Empty(await register.ListLiftedAsync(None));
        await register.AppendSuppressionAsync(first, lifted: true, None);
        Assert.Equal([longer, high], await HashesAsync());
        Assert.Equal([low], await register.ListLiftedAsync(None));
        await register.AppendSuppressionAsync(first with { Reason = SuppressionReason.Unsubscribed }, lifted: false, None);
        Assert.Contains(first with { Reason = SuppressionReason.Unsubscribed }, await register.ListSuppressionsAsync(None));
        Assert.Equal([low, longer, high], await HashesAsync());

        async Task<List<string>> HashesAsync() =>
            [.. (await register.ListSuppressionsAsync(None)).Select(one => one.Hash).Order(StringComparer.Ordinal)];
    }
}
