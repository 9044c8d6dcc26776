using HibpIngest.Storage.Sql.SqlServer;

namespace HibpIngest.Tests.Sql.SqlServer;

/// <summary>Tests reading a batch as SqlBulkCopy does.</summary>
public sealed class AccountBatchReaderTests
{
    [Fact]
    public void Read_returns_each_account_with_load_and_position()
    {
        using var reader = new AccountBatchReader(new(7), Batch(41, "a@example.com", "b@example.org", "c@example.com"), new());
        Assert.Equal(["load_id", "position", "alias", "domain"], Enumerable.Range(0, reader.FieldCount).Select(reader.GetName));
        Assert.Equal([(7L, 41L, "a", "example.com"), (7L, 42L, "b", "example.org"), (7L, 43L, "c", "example.com")], Rest(reader));
        Assert.False(reader.Read());
    }

    [Fact]
    public void Take_reads_the_batch_in_pieces()
    {
        using var reader = new AccountBatchReader(new(7), Batch(41, [.. Enumerable.Range(0, 5).Select(i => $"u{i}@example.com")]), new());
        var read = new List<long>();
        for (var first = 0; first < 5; first += 2)
        {
            reader.Take(first, 2);
            read.AddRange(Rest(reader).Select(row => row.Position));
        }
        Assert.Equal([41, 42, 43, 44, 45], read);
        reader.Take(0, int.MaxValue);
        Assert.Equal(5, Rest(reader).Count);
    }

    [Fact]
    public void Domain_cache_returns_the_right_string_and_shares_it()
    {
        var domains = new AccountBatchReader.Domains();
        // Ten times as many as the cache has entries.
        var names = Enumerable.Range(0, 40_000).Select(i => $"d{i}.example").ToList();
        foreach (var name in names.Concat(names.AsEnumerable().Reverse()))
            Assert.Equal(name, domains.Get(Encoding.ASCII.GetBytes(name)));
        Assert.Same(domains.Get("example.com"u8), domains.Get("example.com"u8));
    }

    private static List<(long Load, long Position, string Alias, string Domain)> Rest(AccountBatchReader reader)
    {
        var rows = new List<(long, long, string, string)>();
        while (reader.Read())
            rows.Add(((long)reader.GetValue(0), (long)reader.GetValue(1), (string)reader.GetValue(2), (string)reader.GetValue(3)));
        return rows;
    }

    private static AccountBatch Batch(long first, params string[] accounts)
    {
        var batch = new AccountBatch(accounts.Length);
        SegmentSamples.Fill(batch, first, accounts.Select(account => account.Split('@')).Select(parts => (parts[1], parts[0])));
        return batch;
    }
}
