using HibpIngest.Errors;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Tests.Upsert;

public sealed class SharedTransactionsTests
{
    private static readonly TablePlace Accounts = new(1, "accounts");

    private readonly SharedTransactions _shared = new();
    private readonly List<string> _sent = [];

    [Fact]
    public async Task Transactions_of_one_partition_are_sent_as_one_by_the_first_and_awaited_by_the_others()
    {
        var (first, second, third) = (Offer("alice"), Offer(["bob", "carol"]), Offer("dave"));
        var response = new TaskCompletionSource();
        var others = new List<Task>();
        var sending = _shared.SendAsync(
            first,
            rows =>
            {
                others.AddRange([SendAsync(second), SendAsync(third)]);
                return RecordAsync(rows, response.Task);
            },
            InFlight());
        Assert.DoesNotContain(others, other => other.IsCompleted);
        response.SetResult();
        await Task.WhenAll([sending, .. others]);
        Assert.Equal(["alice bob carol dave"], _sent);

        await SendAsync(Offer("erin"));
        Assert.Equal("erin", _sent[^1]);
    }

    [Fact]
    public async Task Other_partitions_tables_and_loads_and_withdrawn_offers_are_not_sent_along()
    {
        SharedTransactions.Offer?[] others =
        [
            Offer("bob", partition: "example.com"), Offer("carol", place: new TablePlace(2, "accounts")),
            Offer("dave", place: new TablePlace(1, "ranges")), Offer("erin", load: 2),
        ];
        _shared.Withdraw([null, Offer("frank")]);
        await SendAsync(Offer("alice"));
        foreach (var other in others)
            await SendAsync(other);
        Assert.Equal(["alice", "bob", "carol", "dave", "erin"], _sent);
    }

    [Fact]
    public async Task Rows_that_do_not_fit_or_are_there_already_are_sent_by_a_later_transaction()
    {
        var full = Enumerable.Range(0, IAccountTable.MaxTransactionEntities).Select(i => $"user{i}").ToArray();
        Assert.Null(Offer(full));

        var (first, tooMany, fits, both) = (Offer(full[..60]), Offer([.. full[60..], "bob"]), Offer(full[60..99]), Offer("user7"));
        await SendAsync(first);
        await SendAsync(fits);
        await SendAsync(both);
        await SendAsync(tooMany);
        Assert.Equal([string.Join(' ', full[..99]), $"user7 {string.Join(' ', full[60..])} bob"], _sent);
    }

    [Fact]
    public async Task A_slice_that_waits_for_another_may_send_other_transactions()
    {
        var (first, second) = (Offer("alice"), Offer("bob"));
        var (response, inFlight) = (new TaskCompletionSource(), InFlight());
        var sending = _shared.SendAsync(first, _ => response.Task, InFlight());
        await inFlight.EnterAsync();
        var waiting = _shared.SendAsync(second, rows => RecordAsync(rows), inFlight);
        Assert.True(inFlight.EnterAsync().IsCompleted);
        response.SetResult();
        await Task.WhenAll(sending, waiting);
        Assert.False(inFlight.EnterAsync().IsCompleted); // it has come back
    }

    [Fact]
    public async Task A_refused_row_fails_only_its_slice()
    {
        var (good, bad) = (Offer("alice"), Offer("mallory"));
        Task Refusing(SliceTransaction rows) =>
            Text(rows).Contains("mallory", StringComparison.Ordinal) ? throw new StoreRefusedException("refused") : RecordAsync(rows);
        await _shared.SendAsync(good, Refusing, InFlight());
        await Assert.ThrowsAsync<StoreRefusedException>(() => _shared.SendAsync(bad, Refusing, InFlight()));
        Assert.Equal(["alice"], _sent);
    }

    [Theory]
    [InlineData(true)] // the slice that sends is stopped
    [InlineData(false)] // the one that waits is
    public async Task A_stopped_slice_stops_no_other(bool sender)
    {
        var (first, second) = (Offer("alice"), Offer("bob"));
        using var stop = new CancellationTokenSource();
        var sending = _shared.SendAsync(
            first, _ => Task.Delay(Timeout.Infinite, sender ? stop.Token : CancellationToken.None), InFlight());
        var waiting = _shared.SendAsync(second, rows => RecordAsync(rows), InFlight(sender ? CancellationToken.None : stop.Token));
        Assert.False(waiting.IsCompleted);
        await stop.CancelAsync();
        await waiting;
        Assert.Equal(["bob"], _sent);
        if (sender)
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => sending);
    }

    private SharedTransactions.Offer Offer(string alias, string partition = "example.org", TablePlace? place = null, int load = 1) =>
        Offer([alias], partition, place, load)!;

    private SharedTransactions.Offer? Offer(string[] aliases, string partition = "example.org", TablePlace? place = null, int load = 1)
    {
        var (rows, bytes) = (new List<Range>(), new List<byte>());
        foreach (var alias in aliases)
        {
            bytes.AddRange(Encoding.ASCII.GetBytes(alias));
            rows.Add((bytes.Count - alias.Length)..bytes.Count);
        }
        return _shared.Add(
            new LoadId(load), place ?? Accounts,
            new SliceTransaction(0, false, 1, Encoding.ASCII.GetBytes(partition), rows.ToArray(), bytes.ToArray()));
    }

    private Task SendAsync(SharedTransactions.Offer? offer) => _shared.SendAsync(offer!, rows => RecordAsync(rows), InFlight());

    private static TransactionsInFlight InFlight(CancellationToken stopWaiting = default) => new(1, stopWaiting);

    private async Task RecordAsync(SliceTransaction rows, Task? response = null)
    {
        _sent.Add(Text(rows));
        await (response ?? Task.CompletedTask);
    }

    private static string Text(SliceTransaction rows) =>
        string.Join(' ', rows.Rows.ToArray().Select(row => Encoding.ASCII.GetString(rows.Bytes.Span[row])));
}
