namespace HibpIngest.Testing;

public abstract class AccountTableContract
{
    /// <summary>Returns an existing, empty table as writers and as readers open it.</summary>
    protected abstract Task<(IAccountTable Table, IAccountReads Reads)> NewTableAsync();

    [Fact]
    public async Task Account_collects_its_breaches_and_keeps_each_once()
    {
        var (table, reads) = await NewTableAsync();
        await table.UpsertAsync("example.com", 3, "anna", "bert");
        await table.CreateAsync(None); // changes nothing
        await table.UpsertAsync("example.com", 1, "anna");
        await table.UpsertAsync("example.com", 3, "anna");
        await table.UpsertAsync("example.org", 2, "anna");

        Assert.Equal([1, 3], await reads.GetMarksAsync(new Account("anna", "example.com"), 3, None));
        Assert.Equal([3], await reads.GetMarksAsync(new Account("bert", "example.com"), 3, None));
        Assert.Equal([2], await reads.GetMarksAsync(new Account("anna", "example.org"), 3, None));
        Assert.Empty(await reads.GetMarksAsync(new Account("bert", "example.org"), 3, None));
    }

    [Theory]
    [InlineData(250)]
    [InlineData(251)]
    [InlineData(500)]
    [InlineData(501)]
    public async Task Breaches_past_250_are_read_listed_and_removed_from_extra_rows(int breach)
    {
        var (table, reads) = await NewTableAsync();
        await table.UpsertAsync("example.com", 7, "anna");
        await table.UpsertAsync("example.com", breach, "anna", "bert");
        Assert.Equal([7, breach], await reads.GetMarksAsync(new Account("anna", "example.com"), breach, None));
        Assert.Equal([breach], await reads.GetMarksAsync(new Account("bert", "example.com"), breach, None));
        Assert.Equal(["anna", "bert"], await ListAsync(table, "example.com", breach));
        if (breach > 250)
            Assert.Equal([7], await reads.GetMarksAsync(new Account("anna", "example.com"), 250, None));
        Assert.Equal(2, await table.RemoveMarkAsync("example.com", ["anna", "bert", "carl"], breach, None));
        Assert.Equal([7], await reads.GetMarksAsync(new Account("anna", "example.com"), breach, None));
        Assert.Empty(await reads.GetMarksAsync(new Account("bert", "example.com"), breach, None));
    }

    [Fact]
    public async Task Every_valid_alias_character_round_trips()
    {
        var (table, reads) = await NewTableAsync();
        string[] aliases =
            ["a+b", "a.b", "a-b", "a_b", "a%2bb", "0123456789", "abcdefghijklmnopqrstuvwxyz", "+", "-", "_", "+-_.x", new string('x', 64)];
        await table.UpsertAsync("xn--80ak6aa92e.xn--p1ai", 12, aliases);
        foreach (var alias in aliases)
            Assert.Equal([12], await reads.GetMarksAsync(new Account(alias, "xn--80ak6aa92e.xn--p1ai"), 12, None));
        Assert.Empty(await reads.GetMarksAsync(new Account("a b", "xn--80ak6aa92e.xn--p1ai"), 12, None));
        Assert.Equal(aliases.Order(StringComparer.Ordinal), await ListAsync(table, "xn--80ak6aa92e.xn--p1ai", 12));
    }

    [Fact]
    public async Task Upserts_of_at_most_100_accounts_are_listed_over_pages_within_domain_and_breach()
    {
        var (table, _) = await NewTableAsync();
        var aliases = Enumerable.Range(0, 2300).Select(i => $"user{i:0000}").ToArray();
        foreach (var chunk in aliases.Chunk(100))
            await table.UpsertAsync("example.com", 4, chunk);
        await table.UpsertAsync("example.com", 4);
        await Assert.ThrowsAnyAsync<ArgumentException>(() => table.UpsertAsync("example.com", 6, aliases[..101]));
        await table.UpsertAsync("example.com", 5, "other", "user0001");
        await table.UpsertAsync("example.co", 4, "neighbour");
        Assert.Equal(aliases, await ListAsync(table, "example.com", 4));
        Assert.Equal(["other", "user0001"], await ListAsync(table, "example.com", 5));
        Assert.Empty(await ListAsync(table, "example.com", 6));
    }

    [Fact]
    public async Task Removing_a_breach_keeps_others_and_deletes_empty_rows()
    {
        var (table, reads) = await NewTableAsync();
        var aliases = Enumerable.Range(0, 1150).Select(i => $"user{i:0000}").ToArray();
        foreach (var chunk in aliases.Chunk(100))
            await table.UpsertAsync("example.com", 17, chunk);
        await table.UpsertAsync("example.com", 1, aliases[..100]);
        await table.UpsertAsync("example.org", 17, "anna");
        await table.UpsertAsync("example.org", 170, "anna", "bert");

        Assert.Equal(1151, await table.RemoveMarkFromTableAsync(17));

        Assert.Equal(0, await table.RemoveMarkFromTableAsync(17));
        Assert.Equal(aliases[..100], await ListAsync(table, "example.com", 1));
        Assert.Empty(await ListAsync(table, "example.com", 17));
        Assert.Equal([170], await reads.GetMarksAsync(new Account("anna", "example.org"), 300, None));
        Assert.Equal([170], await reads.GetMarksAsync(new Account("bert", "example.org"), 300, None));
    }

    [Fact]
    public async Task Opt_out_is_read_with_the_marks_and_no_upsert_or_removal_undoes_it()
    {
        var (table, reads) = await NewTableAsync();
        Task<IReadOnlyList<int>> ReadAsync() => reads.GetMarksAsync(new Account("anna", "example.com"), 300, None);
        Task PutAsync(OptOutLevel level) => table.PutOptOutAsync("example.com", "anna", level, None);

        await PutAsync(OptOutLevel.Public);
        await table.UpsertAsync("example.com", 1, "anna", "bert");
        await table.UpsertAsync("example.com", 300, "anna");
        Assert.Equal([-1, 1, 300], await ReadAsync());
        Assert.Equal([-1, 1], await reads.GetMarksAsync(new Account("anna", "example.com"), 1, None));
        Assert.Equal(["anna", "bert"], await ListAsync(table, "example.com", 1));
        await PutAsync(OptOutLevel.All);
        Assert.Equal(
            ["anna: -2,1,300", "bert: 1"],
            await reads.ReadDomainAsync("example.com", None).Select(one => $"{one.Alias}: {string.Join(',', one.Marks)}")
                .ToListAsync());
        // Its mark above 250 is in another row than the opt-out. The service rejects a filter with more than 15 comparisons.
        Assert.Equal(["bert"], await ListAsync(table, "example.com", 1, 300));
        Assert.Equal(["bert"], await ListAsync(table, "example.com", [.. Enumerable.Range(1, 20), 300]));
        for (var part = 0; part < IAccountTable.Parts; part++)
        {
            var page = await table.ReadPageAsync(part, null, None);
            Assert.DoesNotContain(page.Rows.SelectMany(row => row.Row.Marks), mark => mark < 0);
        }

        foreach (var mark in (int[])[1, 300])
            await table.RemoveMarkAsync("example.com", ["anna"], mark, None);
        Assert.Equal([-2], await ReadAsync());
        await table.UpsertAsync("example.com", 7, "anna");
        Assert.Equal([-2, 7], await ReadAsync());
        await PutAsync(OptOutLevel.None);
        Assert.Equal([7], await ReadAsync());
    }

    [Fact]
    public async Task Parts_of_a_scan_cover_every_domain()
    {
        var (table, reads) = await NewTableAsync();
        string[] domains =
            ["0.example", "1a.example", "9z.example", "a.example", "gmail.example", "m.example", "xn--80ak6aa92e.xn--p1ai", "z9.example",
                "zz.example"];
        foreach (var domain in domains)
        {
            await table.UpsertAsync(domain, 260, "anna", "bert");
            await table.UpsertAsync(domain, 3, "bert");
        }
        Assert.Equal(2 * domains.Length, await table.RemoveMarkFromTableAsync(260));
        foreach (var domain in domains)
        {
            Assert.Empty(await reads.GetMarksAsync(new Account("anna", domain), 260, None));
            Assert.Equal([3], await reads.GetMarksAsync(new Account("bert", domain), 260, None));
        }
    }

    [Theory]
    [InlineData(7, 1)] // fills its whole range
    [InlineData(7, 2)] // every other one
    [InlineData(7, 40)] // some far apart
    [InlineData(307, 2)] // in the accounts' second rows
    public async Task Mark_is_removed_from_the_listed_accounts_only(int mark, int every)
    {
        var (table, _) = await NewTableAsync();
        var aliases = Enumerable.Range(0, 2_400).Select(i => $"u{i:0000}").ToArray();
        foreach (var chunk in aliases.Chunk(100))
            await table.UpsertAsync("example.com", mark, chunk);
        var shared = aliases.Where((_, i) => i % 3 == 0).ToHashSet();
        foreach (var chunk in shared.Chunk(100))
            await table.UpsertAsync("example.com", mark + 1, chunk);
        var named = aliases.Where((_, i) => i % every == 0).ToArray();

        // Some accounts don't exist, and one is listed twice.
        Assert.Equal(
            named.Length, await table.RemoveMarkAsync("example.com", [.. named.Reverse(), named[0], "a", "u1000x", "zoe"], mark, None));
        Assert.Equal(0, await table.RemoveMarkAsync("example.com", named, mark, None));

        Assert.Equal(aliases.Except(named), await ListAsync(table, "example.com", mark));
        Assert.Equal(shared.Order(StringComparer.Ordinal), await ListAsync(table, "example.com", mark + 1));
    }

    [Fact]
    public async Task Concurrent_removal_and_upsert_of_marks_lose_nothing()
    {
        var (table, reads) = await NewTableAsync();
        var aliases = Enumerable.Range(0, 400).Select(i => $"user{i:000}").ToArray();
        var added = Enumerable.Range(2, 7).ToList();
        foreach (var chunk in aliases.Chunk(100))
            await table.UpsertAsync("example.com", 1, chunk);
        await Task.WhenAll(
            table.RemoveMarkAsync("example.com", aliases, 1, None),
            table.RemoveMarkFromTableAsync(1),
            Task.WhenAll(
                aliases.Chunk(50).SelectMany(chunk => added.Select(mark => table.UpsertAsync("example.com", mark, chunk)))));
        foreach (var alias in aliases)
            Assert.Equal(added, await reads.GetMarksAsync(new Account(alias, "example.com"), 8, None));
    }

    [Fact]
    public async Task Cancelled_call_throws_OperationCanceledException()
    {
        var (table, reads) = await NewTableAsync();
        using var cancelled = new CancellationTokenSource();
        await cancelled.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => reads.GetMarksAsync(new Account("anna", "example.com"), 1, cancelled.Token));
        var inFlight = new TransactionsInFlight(1, None);
        await inFlight.EnterAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => table.UpsertAsync("example.com"u8.ToArray(), new Range[] { 0..4 }, "anna"u8.ToArray(), 1, inFlight, cancelled.Token));
    }

    private static async Task<string[]> ListAsync(IAccountTable table, string domain, params int[] marks) =>
        await table.ListAliasesAsync(domain, marks, None).ToArrayAsync();
}

internal static class AccountTableExtensions
{
    /// <summary>Removes a mark from the whole table; returns how many entities were changed.</summary>
    public static Task<int> RemoveMarkFromTableAsync(this IAccountTable table, int mark) =>
        ScanAsync(IAccountTable.Parts, (part, token) => table.RemoveMarkAsync(mark, part, token, CancellationToken.None));

    /// <inheritdoc cref="RemoveMarkFromTableAsync(IAccountTable, int)"/>
    public static Task<int> RemoveMarkFromTableAsync(this IRangeTable table, int mark) =>
        ScanAsync(IRangeTable.Parts, (part, token) => table.RemoveMarkAsync(mark, part, token, CancellationToken.None));

    public static Task UpsertAsync(this IAccountTable table, string domain, int breach, params string[] aliases) =>
        table.UpsertAsync(domain, breach, new TransactionsInFlight(1, CancellationToken.None), aliases);

    public static async Task UpsertAsync(
        this IAccountTable table, string domain, int breach, TransactionsInFlight inFlight, params string[] aliases)
    {
        var bytes = Encoding.ASCII.GetBytes(string.Concat(aliases));
        var ranges = new Range[aliases.Length];
        var at = 0;
        for (var i = 0; i < aliases.Length; i++)
        {
            ranges[i] = at..(at + aliases[i].Length);
            at += aliases[i].Length;
        }

        await inFlight.EnterAsync();
        try
        {
            await table.UpsertAsync(Encoding.ASCII.GetBytes(domain), ranges, bytes, breach, inFlight, CancellationToken.None);
        }
        finally
        {
            inFlight.Leave();
        }
    }

    private static async Task<int> ScanAsync(int parts, Func<int, string?, Task<MarkPage>> removeAsync)
    {
        var changed = 0;
        for (var part = 0; part < parts; part++)
        {
            string? token = null;
            do
            {
                var page = await removeAsync(part, token);
                (changed, token) = (changed + page.Changed, page.Token);
            }
            while (token is not null);
        }
        return changed;
    }
}
