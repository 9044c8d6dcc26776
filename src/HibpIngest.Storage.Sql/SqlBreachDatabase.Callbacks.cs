namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    // Condition on a load l and its breach b: mails and calls may be sent.
    private const string Sends = """
        l.removing = 0 AND b.hidden = 0
            AND (l.state IN ('notifying', 'done') OR (l.state = 'failed' AND l.failed_in = 'notifying'))
        """;

    private const string FromCalledSlices = $"""
        FROM dbo.slices s JOIN dbo.loads l ON l.id = s.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
        WHERE s.load_id = @load AND l.calls IS NOT NULL AND l.published_at IS NOT NULL AND {Sends}
        """;

    private const string FromSendingCallbacks = $"""
        FROM dbo.callbacks c JOIN dbo.loads l ON l.id = c.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
        WHERE c.state = 'open' AND {Sends}
        """;

    private const string OfDelivery = "client = @client AND load_id = @load AND slice = @slice";

    private const string IsFree = "(owner IS NULL OR lease_expires_at <= @now)";

    private const string MayBeCalled = "(not_before IS NULL OR not_before <= @now)";

    // When the present series of failures began. A series that had no attempt for hours (held, paused, or no host running) starts again,
    // because that time doesn't count as failing.
    private const string FailingSince =
        "CASE WHEN failing_since IS NULL OR not_before IS NULL OR not_before < @forgotten THEN @now ELSE failing_since END";

    // Twice the longest pause.
    private static readonly TimeSpan ForgottenAfter = TimeSpan.FromHours(2);

    // An undelayed message is processed in less time.
    private static readonly TimeSpan MessageIsLostAfter = TimeSpan.FromMinutes(2);

    public Task<CallSlice?> FindCallSliceAsync(LoadId load, int slice, CancellationToken cancellationToken) => ReadAsync(async session =>
    {
        var found = await session.FirstAsync($"""
            SELECT {SliceColumns}, COALESCE(l.mark, 0) AS mark, b.name, b.metadata, l.purging, s.looked_through
            {FromCalledSlices} AND s.number = @slice
            """,
            row => new CallSlice(
                ReadSlice(row), row.Int32("mark"),
                new Breach { Name = row.Text("name"), Metadata = StoredText.ToMetadata(row.Text("metadata")) },
                row.Boolean("purging"), row.Boolean("looked_through"), []),
            OfLoad(load), Int("@slice", slice));
        if (found is null or { IsSearched: true })
            return found;
        var marks = new SortedSet<int>();
        foreach (var replaced in await ReadReplacedAsync(session, load))
        {
            if (await session.NumberAsync("SELECT mark FROM dbo.loads WHERE id = @load AND calls = 'made'", OfLoad(replaced)) is { } mark)
                marks.Add((int)mark);
        }
        marks.Remove(found.Mark);
        return found with { CalledMarks = [.. marks] };
    }, cancellationToken);

    public Task<IReadOnlyList<Slice>> ListCallSlicesAsync(LoadId load, CancellationToken cancellationToken) => ListAsync(
        $"SELECT {SliceColumns} {FromCalledSlices} AND s.looked_through = 0 ORDER BY s.number", ReadSlice, cancellationToken, OfLoad(load));

    public Task MarkCallMessagesSentAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.loads SET call_messages_at = @now WHERE id = @load", cancellationToken, OfLoad(load));

    public Task SetCallErrorAsync(LoadId load, string error, bool failed, CancellationToken cancellationToken) => WriteAsync("""
        UPDATE dbo.loads SET call_error = @error, calls = CASE WHEN @failed = 1 THEN 'failed' ELSE calls END
        WHERE id = @load AND calls = 'due'
        """, cancellationToken, OfLoad(load), Line("@error", error), Bit("@failed", failed));

    public Task RetryCallSlicesAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.loads SET call_error = NULL, calls = 'due' WHERE id = @load AND calls = 'failed'", cancellationToken, OfLoad(load));

    public Task<IReadOnlyList<int>?> RecordCallSliceAsync(
        LoadId load, int slice, IReadOnlyDictionary<int, int> calls, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<int>?>(async session =>
        {
            Parameter[] key = [OfLoad(load), Int("@slice", slice)];
            // Lock the load, so that of two concurrent last slices the second sees the first.
            if (!await LockLoadRowAsync(session, load)
                || !await session.AnyAsync($"SELECT 1 {FromCalledSlices} AND s.number = @slice AND s.looked_through = 0", key))
            {
                return null;
            }
            await session.ExecuteAsync("UPDATE dbo.slices SET looked_through = 1 WHERE load_id = @load AND number = @slice", key);
            // A load that makes progress needs no messages to be sent again.
            await session.ExecuteAsync("""
                UPDATE dbo.loads SET call_messages_at = @now,
                    call_error = CASE WHEN calls = 'failed'
                        AND EXISTS (SELECT 1 FROM dbo.slices WHERE load_id = @load AND looked_through = 0) THEN call_error END,
                    calls = CASE
                        WHEN EXISTS (SELECT 1 FROM dbo.slices WHERE load_id = @load AND looked_through = 0) THEN calls ELSE 'made' END
                WHERE id = @load
                """, key);
            var toNotify = new List<int>();
            foreach (var (client, count) in calls.OrderBy(one => one.Key))
            {
                Parameter[] ofClient = [.. key, Int("@client", client)];
                await session.ExecuteAsync("""
                    INSERT INTO dbo.callbacks (client, load_id, slice, state, calls, recorded_at)
                    VALUES (@client, @load, @slice, 'open', @calls, @now)
                    """, [.. ofClient, Int("@calls", count)]);
                await AddCallClientAsync(session, client);
                // A process that is calling the client checks again at its end, and so does the receiver of a message that is on its way.
                if (await session.ExecuteAsync($"""
                    UPDATE dbo.call_clients SET message_at = @now
                    WHERE client = @client AND {IsFree} AND {MayBeCalled} AND (message_at IS NULL OR message_at <= @lost)
                    """, Int("@client", client), FromNow("@lost", -MessageIsLostAfter)) == 1)
                {
                    toNotify.Add(client);
                }
            }
            return toNotify;
        }, cancellationToken);

    public Task<CallbackTurn?> TryBeginTurnAsync(int client, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            await AddCallClientAsync(session, client);
            await session.ExecuteAsync($"""
                UPDATE dbo.call_clients SET owner = @owner, lease_expires_at = @until, message_at = NULL
                WHERE client = @client AND {IsFree} AND {MayBeCalled}
                """, Int("@client", client), Owner(owner), FromNow("@until", lease));
            return await session.FirstAsync($"""
                SELECT failures, failing_since, CASE WHEN {MayBeCalled} THEN NULL ELSE not_before END AS not_before, @now AS now_at
                FROM dbo.call_clients
                WHERE client = @client AND (owner = @owner OR ({IsFree} AND NOT {MayBeCalled}))
                """,
                row => new CallbackTurn(
                    row.Int32("failures"), row.TimeOrNull("failing_since"), row.TimeOrNull("not_before") - row.Time("now_at")),
                Int("@client", client), Owner(owner));
        }, cancellationToken);

    public Task<IReadOnlyList<CallbackDelivery>> ListDueDeliveriesAsync(int client, int limit, CancellationToken cancellationToken) =>
        ListAsync(
            Limit($"""
                c.client, c.load_id, c.slice, b.name, b.metadata, c.calls, c.done, c.deferrals, c.answered
                {FromSendingCallbacks} AND c.client = @client AND (c.not_before IS NULL OR c.not_before <= @now)
                ORDER BY c.load_id, c.slice
                """),
            row => new CallbackDelivery
            {
                Key = ReadKey(row),
                Breach = row.Text("name"),
                Flags = StoredText.ToMetadata(row.Text("metadata")).Flags,
                Calls = row.Int32("calls"),
                Done = row.IsNull("done") ? null : row.Bytes("done"),
                Deferrals = row.Int32("deferrals"),
                Answered = row.Int32("answered"),
            },
            cancellationToken, Int("@client", client), BigInt("@limit", limit));

    public Task<IReadOnlyList<CallbackKey>?> RecordDeliveriesAsync(
        int client, string owner, TimeSpan lease, IReadOnlyList<CallbackResult> results, IReadOnlyList<CallbackKey> others,
        TimeSpan giveUpAfter, CancellationToken cancellationToken) => WriteAsync<IReadOnlyList<CallbackKey>?>(async session =>
    {
        if (await session.ExecuteAsync(
            "UPDATE dbo.call_clients SET lease_expires_at = @until WHERE client = @client AND owner = @owner",
            Int("@client", client), Owner(owner), FromNow("@until", lease)) == 0)
        {
            return null;
        }
        var stopped = new List<CallbackKey>();
        foreach (var result in results)
            await RecordAsync(session, result, giveUpAfter);
        foreach (var key in results.Select(result => result.Key).Union(others))
        {
            if (!await session.AnyAsync(
                $"SELECT 1 {FromSendingCallbacks} AND c.client = @client AND c.load_id = @load AND c.slice = @slice", Of(key)))
            {
                stopped.Add(key);
            }
        }
        return stopped;
    }, cancellationToken);

    public Task<TimeSpan?> EndTurnAsync(
        int client, string owner, CallbackTurnEnd end, TimeSpan giveUpAfter, TimeSpan ahead, CancellationToken cancellationToken) =>
        WriteAsync<TimeSpan?>(async session =>
        {
            var id = Int("@client", client);
            var pause = end.Pause ?? TimeSpan.Zero;
            if (await session.ExecuteAsync($"""
                UPDATE dbo.call_clients SET owner = NULL, lease_expires_at = NULL, failures = @failures,
                    not_before = CASE WHEN @pauses = 1 OR @failed = 1 THEN @until END, call_ms = COALESCE(@took, call_ms),
                    failing_since = CASE WHEN @answered = 1 THEN NULL WHEN @failed = 1 THEN {FailingSince} ELSE failing_since END
                WHERE client = @client AND owner = @owner
                """, id, Owner(owner), Forgotten, Int("@failures", end.Failures), Bit("@pauses", pause > TimeSpan.Zero),
                FromNow("@until", pause),
                Int("@took", end.CallTime is { } took ? (int)Math.Clamp(took.TotalMilliseconds, 1, int.MaxValue) : null),
                Bit("@answered", end.HasAnswered), Bit("@failed", end.HasFailed)) == 0)
            {
                return null;
            }
            await GiveUpAsync(session, client, giveUpAfter);
            var next = await session.FirstAsync(
                $"""
                SELECT MIN(COALESCE(c.not_before, c.recorded_at)) AS due_at, @now AS now_at {FromSendingCallbacks} AND c.client = @client
                """,
                row => Tuple.Create(row.TimeOrNull("due_at") - row.Time("now_at")), id);
            if (next?.Item1 is not { } due)
                return null;
            due = due > pause ? due : pause;
            if (due > ahead)
                return null;
            await session.ExecuteAsync(
                "UPDATE dbo.call_clients SET message_at = @until WHERE client = @client", id, FromNow("@until", due));
            return due;
        }, cancellationToken);

    public Task<IReadOnlyList<CallbackHealth>> ListCallbackHealthAsync(TimeSpan lostAfter, CancellationToken cancellationToken) =>
        ListAsync($"""
        SELECT k.client, o.oldest, @now AS now_at, k.call_ms,
            CAST(CASE WHEN o.first_due <= @now AND {IsFree} AND {MayBeCalled}
                AND (k.message_at IS NULL OR k.message_at <= @lost) THEN 1 ELSE 0 END AS bit) AS is_due
        FROM dbo.call_clients k LEFT JOIN (
            SELECT c.client, MIN(c.recorded_at) AS oldest, MIN(COALESCE(c.not_before, c.recorded_at)) AS first_due
            {FromSendingCallbacks} GROUP BY c.client) o ON o.client = k.client
        ORDER BY k.client
        """,
        row => new CallbackHealth(
            row.Int32("client"), row.Time("now_at") - row.TimeOrNull("oldest"),
            row.Int32OrNull("call_ms") is { } took ? TimeSpan.FromMilliseconds(took) : null, row.Boolean("is_due")),
        cancellationToken, FromNow("@lost", -lostAfter));

    public Task<IReadOnlyList<(LoadId Load, int Client, long Calls)>> ListOpenCallsAsync(
        CancellationToken cancellationToken) => ListAsync("""
        SELECT load_id, client, SUM(CAST(calls - answered AS bigint)) AS calls FROM dbo.callbacks WHERE state = 'open'
        GROUP BY load_id, client ORDER BY load_id, client
        """, row => (row.Load("load_id"), row.Int32("client"), row.Int64("calls")), cancellationToken);

    public Task MarkCallbackMessageSentAsync(int client, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.call_clients SET message_at = @now WHERE client = @client", cancellationToken, Int("@client", client));

    public Task<IReadOnlyList<CallbackSummary>> ListCallbacksAsync(CancellationToken cancellationToken) => ListAsync("""
        SELECT c.client, b.name,
            SUM(CASE c.state WHEN 'open' THEN CAST(c.calls - c.answered AS bigint) ELSE 0 END) AS open_calls,
            SUM(CASE c.state WHEN 'dead' THEN CAST(c.calls - c.answered AS bigint) ELSE 0 END) AS dead_calls,
            SUM(CAST(c.answered AS bigint)) AS answered_calls,
            SUM(CASE c.state WHEN 'dropped' THEN CAST(c.calls - c.answered AS bigint) ELSE 0 END) AS dropped_calls,
            MIN(CASE c.state WHEN 'open' THEN c.recorded_at END) AS oldest_open,
            MAX(CASE WHEN c.state IN ('open', 'dead') THEN c.error END) AS last_error
        FROM dbo.callbacks c JOIN dbo.loads l ON l.id = c.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
        GROUP BY c.client, b.name ORDER BY c.client, b.name
        """,
        row => new CallbackSummary(
            row.Int32("client"), row.Text("name"), row.Int64("open_calls"), row.Int64("dead_calls"), row.Int64("answered_calls"),
            row.Int64("dropped_calls"), row.TimeOrNull("oldest_open"), row.TextOrNull("last_error")),
        cancellationToken);

    public Task<long> RetryDeliveriesAsync(int? client, string? breach, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        var (which, parameters) = Which("c.state = 'dead'", client, breach);
        var clients = await session.ListAsync(
            $"SELECT c.client, SUM(CAST(c.calls - c.answered AS bigint)) AS calls {which} GROUP BY c.client",
            row => (Client: row.Int32("client"), Calls: row.Int64("calls")), parameters);
        foreach (var (number, _) in clients)
        {
            (which, parameters) = Which("c.state = 'dead'", number, breach);
            await session.ExecuteAsync(
                "UPDATE dbo.call_clients SET not_before = NULL, failures = 0, failing_since = NULL WHERE client = @client", parameters);
            await session.ExecuteAsync($"""
                UPDATE dbo.callbacks SET state = 'open', not_before = NULL, deferrals = 0, failing_since = NULL
                WHERE client = @client AND state = 'dead' AND load_id IN (SELECT c.load_id {which})
                """, parameters);
        }
        return clients.Sum(one => one.Calls);
    }, cancellationToken, isLong: true);

    public Task<(IReadOnlyList<CallbackKey> Deliveries, long Calls)> DropDeliveriesAsync(
        int? client, string? breach, bool withOpen, string error, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        var (which, parameters) = Which(withOpen ? "c.state IN ('dead', 'open')" : "c.state = 'dead'", client, breach);
        var found = await session.ListAsync(
            $"SELECT c.client, c.load_id, c.slice, c.calls - c.answered AS calls {which}",
            row => (Key: ReadKey(row), Calls: row.Int32("calls")), parameters);
        var dropped = new List<CallbackKey>();
        var calls = 0L;
        foreach (var (key, left) in found)
        {
            if (await session.ExecuteAsync(
                $"UPDATE dbo.callbacks SET state = 'dropped', error = @error WHERE {OfDelivery} AND state IN ('dead', 'open')",
                [.. Of(key), Line("@error", error)]) == 0)
            {
                continue;
            }
            dropped.Add(key);
            calls += left;
        }
        return ((IReadOnlyList<CallbackKey>)dropped, calls);
    }, cancellationToken, isLong: true);

    private static Parameter Forgotten => FromNow("@forgotten", -ForgottenAfter);

    private static CallbackKey ReadKey(IRow row) => new(row.Int32("client"), row.Load("load_id"), row.Int32("slice"));

    private static Parameter[] Of(CallbackKey key) => [Int("@client", key.Client), OfLoad(key.Load), Int("@slice", key.Slice)];

    private static (string From, Parameter[] Parameters) Which(string condition, int? client, string? breach)
    {
        var parameters = new List<Parameter>();
        var from =
            $"FROM dbo.callbacks c JOIN dbo.loads l ON l.id = c.load_id JOIN dbo.breaches b ON b.breach_key = l.breach WHERE {condition}";
        if (client is { } number)
        {
            from += " AND c.client = @client";
            parameters.Add(Int("@client", number));
        }
        if (breach is not null)
        {
            from += " AND b.folded_name = @folded";
            parameters.Add(Folded(breach));
        }
        return (from, [.. parameters]);
    }

    private static Task<int> AddCallClientAsync(ISqlSession session, int client) => session.ExecuteAsync(
        // The second of two concurrent inserts violates the key and, retried, finds the first one's row.
        "INSERT INTO dbo.call_clients (client) SELECT @client WHERE NOT EXISTS (SELECT 1 FROM dbo.call_clients WHERE client = @client)",
        Int("@client", client));

    // Progress resets the delivery's pauses and the start of its failure series.
    private static Task<int> RecordAsync(ISqlSession session, CallbackResult result, TimeSpan giveUpAfter) => session.ExecuteAsync($"""
        UPDATE dbo.callbacks SET done = CASE WHEN @state = 'done' THEN NULL ELSE @done END, answered = @answered,
            error = CASE WHEN @state = 'done' THEN NULL ELSE COALESCE(@error, error) END,
            deferrals = CASE WHEN @answered > answered THEN 0 ELSE deferrals END + @deferred,
            not_before = CASE WHEN @failed = 1 THEN @until ELSE not_before END,
            failing_since = CASE WHEN @failed = 1 AND @answered > answered THEN @now WHEN @failed = 1 THEN {FailingSince}
                WHEN @answered > answered THEN NULL ELSE failing_since END,
            state = CASE WHEN @failed = 1 AND @answered = answered AND failing_since <= @givenUp AND NOT not_before < @forgotten THEN 'dead'
                ELSE @state END
        WHERE {OfDelivery} AND state = 'open'
        """, [
            .. Of(result.Key), LongBytes("@done", result.Done), Int("@answered", result.Answered), Line("@error", result.Error),
            VarChar("@state", result.State.ToString().ToLowerInvariant(), StateLength), Bit("@failed", result.HasFailed),
            Int("@deferred", result.Pause is null ? 0 : 1), FromNow("@until", result.Pause ?? TimeSpan.Zero), Forgotten,
            FromNow("@givenUp", -giveUpAfter),
        ]);

    // If a client has accepted nothing for this long, moves its open deliveries of at least that age to the state dead, tried or not; newer
    // ones keep their time.
    private static async Task GiveUpAsync(ISqlSession session, int client, TimeSpan giveUpAfter)
    {
        Parameter[] parameters = [Int("@client", client), FromNow("@givenUp", -giveUpAfter)];
        if (!await session.AnyAsync("SELECT 1 FROM dbo.call_clients WHERE client = @client AND failing_since <= @givenUp", parameters))
            return;
        var reason = await session.FirstAsync(
            "SELECT MAX(error) AS error FROM dbo.callbacks WHERE client = @client AND state IN ('open', 'dead')",
            row => row.TextOrNull("error") ?? "no call to the client was accepted", parameters[0]);
        await session.ExecuteAsync($"""
            UPDATE dbo.callbacks SET state = 'dead', error = COALESCE(error, @error)
            WHERE client = @client AND state = 'open' AND recorded_at <= @givenUp
                AND load_id IN (SELECT c.load_id {FromSendingCallbacks} AND c.client = @client)
            """, [.. parameters, Line("@error", reason)]);
    }
}
