namespace HibpIngest.Testing;

public abstract class RangeTableContract
{
    /// <summary>Returns an existing, empty table.</summary>
    protected abstract Task<IRangeTable> NewTableAsync();

    [Fact]
    public async Task Range_holds_exactly_the_hashes_with_its_prefix()
    {
        var table = await NewTableAsync();
        string[] prefixes = ["000000", "00FFFF", "09FFFF", "AB0000", "ABCDEE", "ABCDEF", "ABCDF0", "ABFFFE", "ABFFFF", "AC0000"];
        string[] hashes = [.. prefixes.SelectMany(prefix =>
            new[] { prefix + new string('0', 34), prefix + "7" + new string('A', 33), prefix + new string('F', 34) })];
        await table.SetAsync(3, hashes);
        foreach (var prefix in prefixes)
        {
            Assert.Equal(
                hashes.Where(hash => hash.StartsWith(prefix, StringComparison.Ordinal)).Select(hash => (hash[6..], "3")),
                await ReadAsync(table, prefix));
        }
        Assert.Empty(await ReadAsync(table, "ABCDED"));
        Assert.Empty(await ReadAsync(table, "FFFFFF"));
        await table.SetAsync(3, new string('F', 40));
        Assert.Equal<(string, string)[]>([(new string('F', 34), "3")], await ReadAsync(table, "FFFFFF"));
    }

    [Theory]
    [InlineData("abcdef")]
    [InlineData("ABCDE")]
    [InlineData("ABCDEFA")]
    [InlineData("ABCDE'")]
    public async Task Invalid_prefix_is_refused(string prefix)
    {
        var table = await NewTableAsync();
        var refused = await Assert.ThrowsAsync<ArgumentException>(() => table.ReadRangeAsync(prefix, None));
        Assert.DoesNotContain(prefix, refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Marks_past_250_and_an_opt_out_are_read_with_the_first_ones_once_per_hash()
    {
        var table = await NewTableAsync();
        var optedOut = "ABCDEF" + new string('1', 34);
        await table.PutOptOutAsync("AB", optedOut[2..], OptOutLevel.Public, None);
        var (first, second) = ("ABCDEF" + new string('0', 34), "ABCDEF" + new string('0', 33) + "1");
        var third = "ABCDEF" + new string('9', 34);
        foreach (var mark in new[] { 501, 7, 250, 251, 500, 2 })
            await table.SetAsync(mark, first, third);
        await table.SetAsync(300, second, optedOut); // not one of the first 250
        Assert.Equal<(string, string)[]>(
            [(first[6..], "2 7 250 251 500 501"), (second[6..], "300"), (optedOut[6..], "-1 300"), (third[6..], "2 7 250 251 500 501")],
            await ReadAsync(table, "ABCDEF"));
        Assert.Equal(2, await table.RemoveMarkAsync("AB", [first[2..], third[2..]], 500, None));
        Assert.Equal(1, await table.RemoveMarkAsync("AB", [second[2..]], 300, None));
        await table.PutOptOutAsync("AB", optedOut[2..], OptOutLevel.All, None);
        await table.SetAsync(2, optedOut);
        Assert.Equal<(string, string)[]>(
            [(first[6..], "2 7 250 251 501"), (optedOut[6..], "-2 2 300"), (third[6..], "2 7 250 251 501")],
            await ReadAsync(table, "ABCDEF"));
    }

    [Fact]
    public async Task Range_of_several_pages_is_read_completely()
    {
        var table = await NewTableAsync();
        string[] hashes = [.. Enumerable.Range(0, 1_700).Select(i => $"12345A{i:X34}")];
        foreach (var chunk in hashes.Chunk(100))
        {
            await table.SetAsync(5, chunk);
            await table.SetAsync(255, chunk);
        }
        Assert.Equal(hashes.Select(hash => (hash[6..], "5 255")), await ReadAsync(table, "12345A"));
    }

    [Fact]
    public async Task Merge_adds_all_marks_to_those_a_row_has()
    {
        var table = await NewTableAsync();
        var hashes = Enumerable.Range(0, 100).Select(i => $"{i:X38}").ToArray();
        await table.SetAsync(9, "AB" + hashes[0]);
        await FillAsync(hashes[0], 0, 1, 2, 250);
        await FillAsync(hashes[0], 1, 251, 500);
        await FillAsync(hashes[0], 2, 501);
        await FillAsync(hashes[0], 0, 1, 2, 250); // again
        Assert.Equal<(string, string)[]>([(hashes[0][4..], "1 2 9 250 251 500 501")], await ReadAsync(table, "AB0000"));
        await table.MergeAsync("AC"u8.ToArray(), MarkedRows.Of([.. hashes.Select(hash => new MarkedRow(hash, 0, [4, 5]))]), None);
        Assert.Equal(hashes.Select(hash => (hash[4..], "4 5")), await ReadAsync(table, "AC0000"));

        Task FillAsync(string key, int row, params int[] marks) =>
            table.MergeAsync("AB"u8.ToArray(), MarkedRows.Of([new MarkedRow(key, row, marks)]), None);
    }

    [Fact]
    public async Task Parts_of_a_scan_remove_the_mark_from_every_hash_and_keep_others()
    {
        var table = await NewTableAsync();
        string[] hashes = [.. Enumerable.Range(0, 300).Select(i => Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes($"{i}"))))];
        await table.SetAsync(260, hashes);
        await table.SetAsync(3, hashes[..20]);
        Assert.Equal(hashes.Length, await table.RemoveMarkFromTableAsync(260));
        for (var i = 0; i < hashes.Length; i++)
        {
            var left = await ReadAsync(table, hashes[i][..6]);
            Assert.Equal(i < 20 ? $"{hashes[i][6..]} 3" : "", string.Join(',', left.Select(one => $"{one.Suffix} {one.Marks}")));
        }
    }

    private static async Task<(string Suffix, string Marks)[]> ReadAsync(IRangeTable table, string prefix) =>
        [.. (await table.ReadRangeAsync(prefix, None)).Select(entry => (entry.Suffix, string.Join(' ', entry.Marks)))];
}

internal static class RangeTableExtensions
{
    /// <summary>Sets a mark on hashes of 40 hex digits in any partitions.</summary>
    public static async Task SetAsync(this IRangeTable table, int mark, params string[] hashes)
    {
        foreach (var partition in hashes.GroupBy(hash => hash[..2]))
        {
            var bytes = Encoding.ASCII.GetBytes(string.Concat(partition.Select(hash => hash[2..])));
            Range[] rows = [.. partition.Select((_, i) => (i * 38)..((i + 1) * 38))];
            foreach (var chunk in rows.Chunk(IAccountTable.MaxTransactionEntities))
            {
                var inFlight = new TransactionsInFlight(1, CancellationToken.None);
                await inFlight.EnterAsync();
                await table.UpsertAsync(Encoding.ASCII.GetBytes(partition.Key), chunk, bytes, mark, inFlight, CancellationToken.None);
            }
        }
    }
}
