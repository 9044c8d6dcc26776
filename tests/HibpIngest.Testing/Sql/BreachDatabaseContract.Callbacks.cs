namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    private const int Client = 7;
    private static readonly TimeSpan GiveUpAfter = TimeSpan.FromDays(3);
    private static readonly TimeSpan MessageIsLostAfter = TimeSpan.FromMinutes(2);
    private static readonly CallbackTurnEnd Accepted = new(0, HasAnswered: true, HasFailed: false, null, TimeSpan.FromMilliseconds(20));
    private static readonly CallbackTurnEnd Nothing = new(0, HasAnswered: false, HasFailed: false, null, null);

    [Fact]
    public async Task Callback_slices_are_recorded_once_and_only_while_their_load_may_send()
    {
        var load = await UpsertAsync(Numbered(7));
        await MatchRowsAsync(load.Id);
        Assert.Empty(await Database.ListCallSlicesAsync(load.Id, None));
        Assert.Equal(
            LoadState.Held,
            await Database.FinishAllAsync(load.Id, new MatchEnd(null, Hold: true) { CallsClients = true }, None));
        Assert.True((await LoadAsync(load.Id)).AwaitsCalls);
        Assert.Empty(await Database.ListCallSlicesAsync(load.Id, None));
        Assert.Null(await Database.FindCallSliceAsync(load.Id, 1, None));
        Assert.Null(await Database.RecordCallSliceAsync(load.Id, 1, new Dictionary<int, int> { [Client] = 1 }, None));
        await Database.ReleaseLoadNotificationsAsync(load.Id, None);

        Assert.Equal([1, 2, 3], (await Database.ListCallSlicesAsync(load.Id, None)).Select(slice => slice.Number));
        var first = (await Database.FindCallSliceAsync(load.Id, 1, None))!;
        Assert.Equal(
            ("Adobe", load.Mark, false, false, 1L, 3L, 3),
            (first.Breach.Name, first.Mark, first.Purged, first.IsSearched, first.Slice.First, first.Slice.Last, first.Slice.Count));
        Assert.Empty(first.CalledMarks);
        await Database.SetHiddenAsync("Adobe", true, None);
        Assert.Null(await Database.FindCallSliceAsync(load.Id, 1, None));
        Assert.Null(await Database.RecordCallSliceAsync(load.Id, 1, new Dictionary<int, int>(), None));
        await Database.SetHiddenAsync("Adobe", false, None);

        await Database.SetCallErrorAsync(load.Id, "no\nkey", failed: false, None);
        await Database.MarkCallMessagesSentAsync(load.Id, None);
        var calls = (await LoadAsync(load.Id)).Calls!;
        Assert.Equal(("no key", (DateTimeOffset?)Now, false), (calls.Error, calls.MessagesAt, calls.IsSearched));
        // Two workers evaluated the same slice: the second records nothing.
        Assert.Equal([Client, 9], (await Database.RecordCallSliceAsync(
            load.Id, 1, new Dictionary<int, int> { [9] = 2, [Client] = 3 }, None))!);
        Assert.Null(await OpenAnother().RecordCallSliceAsync(load.Id, 1, new Dictionary<int, int> { [Client] = 3 }, None));
        Assert.True((await Database.FindCallSliceAsync(load.Id, 1, None))!.IsSearched);
        Assert.Equal([2, 3], (await Database.ListCallSlicesAsync(load.Id, None)).Select(slice => slice.Number));
        // One client has a message on its way; the other's last one was sent long ago.
        Time.Advance(MessageIsLostAfter);
        await Database.MarkCallbackMessageSentAsync(9, None);
        Assert.Equal([Client], (await Database.RecordCallSliceAsync(
            load.Id, 2, new Dictionary<int, int> { [9] = 2, [Client] = 1 }, None))!);
        Assert.Empty((await Database.RecordCallSliceAsync(load.Id, 3, new Dictionary<int, int>(), None))!);
        calls = (await LoadAsync(load.Id)).Calls!;
        Assert.Equal(
            (true, 8L, 0L, 8L, 0L, null), (calls.IsSearched, calls.Calls, calls.Answered, calls.Open, calls.Abandoned, calls.Error));
        Assert.Equal(4, await CountAsync("callbacks"));
    }

    [Fact]
    public async Task Last_callback_slices_recorded_concurrently_complete_the_load_once()
    {
        for (var i = 0; i < 10; i++)
        {
            var load = await SendAsync(Numbered(6), $"Breach{i}");
            await ConcurrentlyAsync(
                4, (database, one) => database.RecordCallSliceAsync(load, 1 + (one / 2), new Dictionary<int, int> { [Client] = 1 }, None));
            var calls = (await LoadAsync(load)).Calls!;
            Assert.Equal((true, 2L), (calls.IsSearched, calls.Calls));
        }
    }

    [Fact]
    public async Task Callback_turn_has_one_owner_until_its_lease_expires()
    {
        var load = await SendAsync(Numbered(7));
        foreach (var slice in (int[])[1, 2, 3])
            await Database.RecordCallSliceAsync(load, slice, new Dictionary<int, int> { [Client] = 10, [9] = 1 }, None);
        var another = OpenAnother();
        Assert.Equal(new CallbackTurn(0, null), await Database.TryBeginTurnAsync(Client, Me, Lease, None));
        Assert.Null(await another.TryBeginTurnAsync(Client, Other, Lease, None));
        Assert.NotNull(await another.TryBeginTurnAsync(9, Other, Lease, None));
        var due = await Database.ListDueDeliveriesAsync(Client, 2, None);
        Assert.Equal([1, 2], due.Select(one => one.Key.Slice));
        Assert.All(due, one => Assert.Equal(("Adobe", 10, 0, 0, null), (one.Breach, one.Calls, one.Answered, one.Deferrals, one.Done)));

        // Recording renews the lease; after it expires, another worker takes the turn and the first records nothing more.
        Time.Advance(Lease * 0.8);
        Assert.Empty((await RecordAsync(Result(load, 1, 3)))!);
        Time.Advance(Lease * 0.8);
        Assert.Null(await another.TryBeginTurnAsync(Client, Other, Lease, None));
        Time.Advance(Lease * 0.2);
        Assert.NotNull(await another.TryBeginTurnAsync(Client, Other, Lease, None));
        Assert.Null(await RecordAsync(Result(load, 1, 4)));
        Assert.Null(await Database.EndTurnAsync(Client, Me, Accepted, GiveUpAfter, Lease, None));
        var first = (await another.ListDueDeliveriesAsync(Client, 1, None))[0];
        Assert.Equal((3, "0700"), (first.Answered, Convert.ToHexString(first.Done!)));

        // A finished delivery is not continued, and nothing is left when all are finished.
        Assert.Equal([Key(load, 1)], (await another.RecordDeliveriesAsync(
            Client, Other, Lease, [Result(load, 1, 10) with { State = CallbackState.Done }], [Key(load, 2)], GiveUpAfter, None))!);
        Assert.Equal([2, 3], (await another.ListDueDeliveriesAsync(Client, 9, None)).Select(one => one.Key.Slice));
        await Database.SetHiddenAsync("Adobe", true, None);
        Assert.Equal([Key(load, 2), Key(load, 3)], (await another.RecordDeliveriesAsync(
            Client, Other, Lease, [Result(load, 2, 1)], [Key(load, 3)], GiveUpAfter, None))!);
        Assert.Empty(await another.ListDueDeliveriesAsync(Client, 9, None));
        Assert.Null(await another.EndTurnAsync(Client, Other, Accepted, GiveUpAfter, Lease, None));
        await Database.SetHiddenAsync("Adobe", false, None);
        var calls = (await LoadAsync(load)).Calls!;
        Assert.Equal((33L, 11L, 22L), (calls.Calls, calls.Answered, calls.Open));
    }

    [Fact]
    public async Task Turn_pauses_defer_the_client_and_result_pauses_the_delivery()
    {
        var load = await SendAsync(Numbered(6));
        foreach (var slice in (int[])[1, 2])
            await Database.RecordCallSliceAsync(load, slice, new Dictionary<int, int> { [Client] = 10 }, None);
        Assert.NotNull(await Database.TryBeginTurnAsync(Client, Me, Lease, None));
        await RecordAsync(Result(load, 1, 1) with { Error = "it answered 500", Pause = TimeSpan.FromMinutes(3) });
        Assert.Equal([2], (await Database.ListDueDeliveriesAsync(Client, 9, None)).Select(one => one.Key.Slice));
        // The next message is delivered when the client may be called again, and counts as sent until then.
        var pause = new CallbackTurnEnd(2, HasAnswered: false, HasFailed: true, TimeSpan.FromMinutes(1), TimeSpan.FromMilliseconds(30));
        Assert.Equal(TimeSpan.FromMinutes(1), await Database.EndTurnAsync(Client, Me, pause, GiveUpAfter, TimeSpan.FromDays(6), None));
        Assert.Equal(
            new CallbackTurn(2, Now, TimeSpan.FromMinutes(1)), await Database.TryBeginTurnAsync(Client, Other, Lease, None));
        Assert.False((await HealthAsync()).IsDue);
        Time.Advance(TimeSpan.FromMinutes(1));
        Assert.False((await HealthAsync()).IsDue);
        Time.Advance(MessageIsLostAfter);
        Assert.Equal(
            (true, TimeSpan.FromMinutes(3), TimeSpan.FromMilliseconds(30)),
            (await HealthAsync() is var health && health.IsDue, health.OldestFor, health.CallTime));
        Assert.Equal(2, (await Database.TryBeginTurnAsync(Client, Me, Lease, None))!.Failures);
        Assert.Equal([1, 2], (await Database.ListDueDeliveriesAsync(Client, 9, None)).Select(one => one.Key.Slice));
        Assert.Equal([1, 0], (await Database.ListDueDeliveriesAsync(Client, 9, None)).Select(one => one.Deferrals));
        await RecordAsync(
            Result(load, 2, 10) with { State = CallbackState.Done }, Result(load, 1, 1) with { Error = "x", Pause = TimeSpan.FromDays(9) });
        // The pause is longer than a message can be hidden, so no message is sent.
        Assert.Null(await Database.EndTurnAsync(Client, Me, Accepted, GiveUpAfter, TimeSpan.FromDays(6), None));
        Assert.Equal((false, TimeSpan.FromMilliseconds(20)), (await HealthAsync() is var later && later.IsDue, later.CallTime));
        Time.Advance(TimeSpan.FromDays(9));
        Assert.True((await HealthAsync()).IsDue);
    }

    [Fact]
    public async Task Deliveries_failing_too_long_are_dead_until_an_operator_retries_or_drops_them()
    {
        var load = await SendAsync(Numbered(7));
        foreach (var slice in (int[])[1, 2, 3])
            await Database.RecordCallSliceAsync(load, slice, new Dictionary<int, int> { [Client] = 10 }, None);
        // One delivery's calls fail, while others of the client are accepted.
        await FailForAsync(GiveUpAfter - TimeSpan.FromHours(1), load, 1, answers: true);
        Assert.Equal((29L, 0L), await OpenAndAbandonedAsync(load));
        await FailForAsync(TimeSpan.FromHours(2), load, 1, answers: true);
        Assert.Equal((20L, 9L), await OpenAndAbandonedAsync(load));
        var summary = Assert.Single(await Database.ListCallbacksAsync(None));
        Assert.Equal(
            (Client, "Adobe", 20L, 9L, 1L, 0L, "it answered 500"),
            (summary.Client, summary.Breach, summary.Open, summary.Abandoned, summary.Answered, summary.Dropped, summary.Error));

        // The client accepts nothing: everything recorded that long ago is given up, tried or not.
        var next = await SendAsync(Numbered(3), "Bold");
        await FailForAsync(TimeSpan.FromHours(2), load, 2, answers: false);
        await Database.RecordCallSliceAsync(next, 1, new Dictionary<int, int> { [Client] = 5 }, None);
        await FailForAsync(GiveUpAfter - TimeSpan.FromHours(3), load, 2, answers: false);
        Assert.Equal((20L, 9L), await OpenAndAbandonedAsync(load));
        await FailForAsync(TimeSpan.FromHours(2), load, 2, answers: false);
        Assert.Equal(((0L, 29L), (5L, 0L)), (await OpenAndAbandonedAsync(load), await OpenAndAbandonedAsync(next)));
        Assert.False((await LoadAsync(load)).AwaitsCalls);

        // The client had also requested a pause, which the operator's retry ends.
        Assert.NotNull(await Database.TryBeginTurnAsync(Client, Me, Lease, None));
        await Database.EndTurnAsync(Client, Me, Nothing with { Failures = 5, Pause = Lease }, GiveUpAfter, Lease, None);
        Assert.Equal(0, await Database.RetryDeliveriesAsync(8, null, None));
        Assert.Equal(Lease, (await Database.TryBeginTurnAsync(Client, Me, Lease, None))!.Pause);
        Assert.Equal(0, await Database.RetryDeliveriesAsync(Client, "Nothing", None));
        Assert.Equal(29, await Database.RetryDeliveriesAsync(Client, "adobe", None));
        Assert.Equal((29L, 0L), await OpenAndAbandonedAsync(load));
        Assert.Equal(new CallbackTurn(0, null), await Database.TryBeginTurnAsync(Client, Me, Lease, None));
        Assert.All(await Database.ListDueDeliveriesAsync(Client, 9, None), one => Assert.Equal(0, one.Deferrals));
        await RecordAsync(Result(load, 3, 4));
        await Database.EndTurnAsync(Client, Me, Nothing, GiveUpAfter, Lease, None);
        Assert.Equal((0, 0L), await DroppedAsync(Client, withOpen: false));
        Assert.Equal((4, 30L), await DroppedAsync(Client, withOpen: true));
        Assert.Equal((0, 0L), await DroppedAsync(null, withOpen: true));
        summary = Assert.Single(await Database.ListCallbacksAsync(None), one => one.Breach == "Adobe");
        Assert.Equal((0L, 0L, 5L, 25L), (summary.Open, summary.Abandoned, summary.Answered, summary.Dropped));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Time_without_attempts_does_not_count_as_failing(bool answers)
    {
        var load = await SendAsync(Numbered(6));
        foreach (var slice in (int[])[1, 2])
            await Database.RecordCallSliceAsync(load, slice, new Dictionary<int, int> { [Client] = 10 }, None);
        // The load is held or hidden, the client is paused, or no host runs.
        for (var i = 0; i < 3; i++)
        {
            await FailForAsync(GiveUpAfter - TimeSpan.FromHours(1), load, 1, answers);
            Time.Advance(TimeSpan.FromDays(30));
        }
        Assert.Equal(0L, (await OpenAndAbandonedAsync(load)).Abandoned);
        await FailForAsync(GiveUpAfter + TimeSpan.FromHours(1), load, 1, answers);
        Assert.Equal(answers ? 9L : 19L, (await OpenAndAbandonedAsync(load)).Abandoned);
    }

    [Fact]
    public async Task Progress_of_a_delivery_resets_its_pauses_and_its_failing_time()
    {
        var load = await SendAsync(Numbered(3));
        await Database.RecordCallSliceAsync(load, 1, new Dictionary<int, int> { [Client] = 10 }, None);
        for (var answered = 1; answered < 6; answered++)
        {
            await FailForAsync(GiveUpAfter - TimeSpan.FromHours(2), load, 1, answers: true, answered);
            Assert.InRange((await Database.ListDueDeliveriesAsync(Client, 1, None))[0].Deferrals, 60, 72);
        }
        Assert.Equal((5L, 0L), await OpenAndAbandonedAsync(load));
        // Calls that weren't tried yet are due at once.
        Assert.NotNull(await Database.TryBeginTurnAsync(Client, Me, Lease, None));
        await RecordAsync(Result(load, 1, 5) with { Error = "it answered 500" });
        Assert.Single(await Database.ListDueDeliveriesAsync(Client, 1, None));
        // A turn without a failure ends the period of failures.
        await Database.EndTurnAsync(Client, Me, Accepted, GiveUpAfter, Lease, None);
        await FailForAsync(GiveUpAfter - TimeSpan.FromHours(2), load, 1, answers: true, 6);
        Assert.NotNull(await Database.TryBeginTurnAsync(Client, Me, Lease, None));
        await RecordAsync(Result(load, 1, 7));
        await Database.EndTurnAsync(Client, Me, Accepted, GiveUpAfter, Lease, None);
        await FailForAsync(TimeSpan.FromHours(3), load, 1, answers: true, 7);
        Assert.Equal((3L, 0L), await OpenAndAbandonedAsync(load));
    }

    [Fact]
    public async Task Replacement_load_lists_marks_whose_callbacks_were_evaluated()
    {
        var first = await SendAsync(Numbered(3));
        Assert.Empty((await Database.RecordCallSliceAsync(first, 1, new Dictionary<int, int>(), None))!);
        var second = await SendAsync(Numbered(3), blob: Blob(etag: "\"0x2\""));
        var mark = (await LoadAsync(first)).Mark;
        Assert.Equal([mark], (await Database.FindCallSliceAsync(second, 1, None))!.CalledMarks);
        // The replaced load makes no more calls.
        Assert.Null(await Database.FindCallSliceAsync(first, 1, None));
        // A load that wasn't evaluated completely doesn't count as notified.
        var third = await SendAsync(Numbered(3), blob: Blob(etag: "\"0x3\""));
        Assert.Equal([mark], (await Database.FindCallSliceAsync(third, 1, None))!.CalledMarks);
    }

    [Fact]
    public async Task Removing_a_breach_deletes_its_callbacks()
    {
        var load = await SendAsync(Numbered(3));
        await Database.RecordCallSliceAsync(load, 1, new Dictionary<int, int> { [Client] = 3 }, None);
        Assert.NotNull(await Database.TryBeginTurnAsync(Client, Me, Lease, None));
        await Database.BeginRemovalAsync("Adobe", None);
        Assert.Empty(await Database.ListDueDeliveriesAsync(Client, 9, None));
        Assert.Equal([Key(load, 1)], (await RecordAsync(Result(load, 1, 1)))!);
        await Database.FinishRemovalAsync(load, None);
        Assert.Equal(0, await CountAsync("callbacks"));
        Assert.Empty((await RecordAsync())!);
        Assert.Null(await Database.EndTurnAsync(Client, Me, Nothing, GiveUpAfter, Lease, None));
    }

    [Fact]
    public async Task Load_with_open_callbacks_cannot_be_assigned_to_another_breach()
    {
        var load = await SendAsync(Numbered(3));
        await RefusedAsync(() => Database.AssignLoadAsync(load, "Bold", null, None));
        await Database.HoldLoadsAsync("Adobe", "held by an operator", None);
        await Database.AssignLoadAsync(load, "Bold", null, None);
        Assert.Equal("Bold", (await LoadAsync(load)).Breach);
    }

    private static CallbackKey Key(LoadId load, int slice) => new(Client, load, slice);

    /// <summary>Returns a result in which the first calls were accepted.</summary>
    private static CallbackResult Result(LoadId load, int slice, int answered) => new(
        Key(load, slice), [(byte)((1 << Math.Min(answered, 8)) - 1), (byte)((1 << Math.Max(answered - 8, 0)) - 1)], answered,
        CallbackState.Open);

    private Task<IReadOnlyList<CallbackKey>?> RecordAsync(params IReadOnlyList<CallbackResult> results) =>
        Database.RecordDeliveriesAsync(Client, Me, Lease, results, [], GiveUpAfter, None);

    /// <summary>Makes a load that sends, and whose clients must be called.</summary>
    private async Task<LoadId> SendAsync(IReadOnlyCollection<string> accounts, string breach = "Adobe", BlobVersion? blob = null)
    {
        var load = await UpsertAsync(accounts, breach, blob);
        await MatchRowsAsync(load.Id);
        Assert.Equal(LoadState.Done, await Database.FinishAllAsync(load.Id, Send with { CallsClients = true }, None));
        return load.Id;
    }

    /// <summary>Runs turns, an hour apart, in which the calls of one slice's delivery fail except for the first few.</summary>
    private async Task FailForAsync(TimeSpan time, LoadId load, int slice, bool answers, int answered = 1)
    {
        for (var end = Now + time; Now < end; Time.Advance(TimeSpan.FromHours(1)))
        {
            Assert.NotNull(await Database.TryBeginTurnAsync(Client, Me, Lease, None));
            await RecordAsync(
                Result(load, slice, slice == 1 ? answered : 0) with { Error = "it answered 500", Pause = TimeSpan.FromMinutes(59) });
            await Database.EndTurnAsync(
                Client, Me, new CallbackTurnEnd(0, answers, HasFailed: true, null, null), GiveUpAfter, TimeSpan.FromDays(6), None);
        }
    }

    private async Task<(long Open, long Abandoned)> OpenAndAbandonedAsync(LoadId load) =>
        (await LoadAsync(load)).Calls is { } calls ? (calls.Open, calls.Abandoned) : default;

    private async Task<(int Deliveries, long Calls)> DroppedAsync(int? client, bool withOpen)
    {
        var (deliveries, calls) = await Database.DropDeliveriesAsync(client, null, withOpen, "dropped", None);
        return (deliveries.Count, calls);
    }

    private async Task<CallbackHealth> HealthAsync() =>
        Assert.Single(await Database.ListCallbackHealthAsync(MessageIsLostAfter, None));
}
