namespace HibpIngest.Testing;

public abstract class PasswordAppendsContract
{
    /// <summary>Returns an empty store that hasn't been created.</summary>
    protected abstract Task<IPasswordAppends> NewStoreAsync();

    [Fact]
    public async Task Store_is_empty_before_it_is_created()
    {
        var store = await NewStoreAsync();
        Assert.Null(await store.FindAsync("one", Guid.NewGuid(), None));
        Assert.Empty(await ListAsync(store));
        Assert.Null(await store.ReadRowsAsync(Guid.NewGuid(), 0, 1, None));
        await store.CreateAsync(None);
        await store.CreateAsync(None);
        Assert.Empty(await ListAsync(store));
    }

    [Fact]
    public async Task Added_transactions_of_all_submitters_are_read_back_unchanged_and_listed()
    {
        var store = await NewCreatedAsync();
        var sent = NewTransaction("one");
        await store.AddAsync(sent, None);
        Assert.Equal(sent, Plain(await FoundAsync(store, sent)));
        Assert.Equal(sent, Plain(Assert.Single(await ListAsync(store))));
        Assert.Null(await store.FindAsync("two", sent.Id, None));
        Assert.Null(await store.FindAsync("one", Guid.NewGuid(), None));

        var done = NewTransaction("two") with
        {
            State = AppendState.Done,
            MessageSentAt = Noon.AddSeconds(1),
            Release = "2026-11",
            DoneAt = Noon.AddHours(2),
        };
        byte[] parts = [0, 0xFF, 1, 0x80];
        await store.AddAsync(done with { PartsDone = parts }, None);
        var found = await FoundAsync(store, done);
        Assert.Equal(parts, found.PartsDone.ToArray());
        Assert.Equal(done, Plain(found) with { PartsDone = default });

        AppendTransaction[] more = [.. Enumerable.Range(0, 30).Select(i => NewTransaction($"{i % 3:x64}"))];
        foreach (var transaction in more)
            await store.AddAsync(transaction, None);
        Assert.Equal(more.Append(sent).Append(done).Select(one => one.Id).Order(), (await ListAsync(store)).Select(one => one.Id).Order());
    }

    [Fact]
    public async Task Each_transaction_version_is_updated_at_most_once()
    {
        var store = await NewCreatedAsync();
        var sent = NewTransaction("one");
        await store.AddAsync(sent, None);
        var first = await FoundAsync(store, sent);
        var confirmed = await store.UpdateAsync(first with { State = AppendState.Confirmed, MessageSentAt = Noon }, None);
        Assert.NotNull(confirmed);
        Assert.NotEqual(first.ETag, confirmed.ETag);
        Assert.Null(await store.UpdateAsync(first with { State = AppendState.Done }, None));
        var done = await store.UpdateAsync(confirmed with { State = AppendState.Done, MessageSentAt = null }, None);
        Assert.NotNull(done);
        var found = await FoundAsync(store, sent);
        Assert.Equal((AppendState.Done, null, done.ETag), (found.State, found.MessageSentAt, found.ETag));

        const int Writers = 8;
        var written = await Task.WhenAll(Enumerable.Range(1, Writers).Select(
            writer => store.UpdateAsync(done with { Release = $"{writer}" }, None)));
        var winner = Assert.Single(written, one => one is not null);
        Assert.Equal(winner!.Release, (await FoundAsync(store, sent)).Release);
    }

    [Fact]
    public async Task Hashes_are_read_in_parts_until_their_transaction_is_deleted_at_the_version_read()
    {
        var store = await NewCreatedAsync();
        var sent = NewTransaction("one");
        byte[] rows = [.. Enumerable.Range(0, 1_000).Select(i => (byte)i)];
        await store.WriteRowsAsync(sent.Id, rows, None);
        foreach (var (offset, length) in new[] { (0, rows.Length), (990, 10), (5, 0) })
            Assert.Equal(rows[offset..(offset + length)], (await store.ReadRowsAsync(sent.Id, offset, length, None))!.Value.ToArray());
        Assert.Null(await store.ReadRowsAsync(Guid.NewGuid(), 0, 1, None));
        await store.AddAsync(sent, None);
        var read = await FoundAsync(store, sent);
        var changed = (await store.UpdateAsync(read with { State = AppendState.Confirmed }, None))!;
        Assert.False(await store.DeleteAsync(read, None));
        Assert.NotNull(await store.ReadRowsAsync(sent.Id, 0, 3, None));
        Assert.True(await store.DeleteAsync(changed, None));
        Assert.Null(await store.ReadRowsAsync(sent.Id, 0, 3, None));
        Assert.Null(await store.FindAsync(sent.Submitter, sent.Id, None));
        Assert.False(await store.DeleteAsync(changed, None));
        Assert.Null(await store.UpdateAsync(changed, None));
    }

    private static readonly DateTimeOffset Noon = new(2026, 11, 21, 12, 0, 0, TimeSpan.Zero);

    private static AppendTransaction NewTransaction(string submitter) => new()
    {
        Submitter = submitter,
        Id = Guid.NewGuid(),
        CreatedAt = Noon,
        Sha1Rows = 3,
        NtlmRows = 2,
    };

    /// <summary>Returns the transaction without its ETag, and with an empty parts set in its default form.</summary>
    private static AppendTransaction Plain(AppendTransaction transaction) =>
        transaction with { ETag = null, PartsDone = transaction.PartsDone.IsEmpty ? default : transaction.PartsDone };

    private static async Task<AppendTransaction> FoundAsync(IPasswordAppends store, AppendTransaction sent) =>
        await store.FindAsync(sent.Submitter, sent.Id, None) ?? throw new InvalidOperationException("it is not there");

    private async Task<IPasswordAppends> NewCreatedAsync()
    {
        var store = await NewStoreAsync();
        await store.CreateAsync(None);
        return store;
    }

    private static async Task<List<AppendTransaction>> ListAsync(IPasswordAppends store) => await store.ListAsync(None).ToListAsync();
}
