namespace HibpIngest.Testing;

/// <summary>Reads a layout's content without the product's code, from the place that the documents give.</summary>
internal static class LayoutContent
{
    /// <summary>Asserts that the layout has the first layout's accounts and their hashes.</summary>
    /// <param name="marks">The marks to compare, as <c>b7</c>; null: all.</param>
    public static async Task AssertHeldAsync(PipelineRig rig, StoreLayout layout, IReadOnlySet<string>? marks = null)
    {
        var accounts = await ReadAccountsAsync(rig, layout);
        Assert.Equal(Sorted(await rig.TableAsync(), marks), Sorted(accounts, marks));
        Assert.Equal(RawTable.RangesOf(accounts), await ReadRangesAsync(rig, layout));
    }

    /// <summary>Returns the accounts that have any of these marks, with those marks.</summary>
    public static SortedDictionary<string, string> Sorted(Dictionary<string, string[]> all, IReadOnlySet<string>? marks = null) =>
        new(all.Select(one => (one.Key, Marks: string.Join(' ', one.Value.Where(mark => marks?.Contains(mark) ?? true))))
            .Where(one => one.Marks.Length > 0).ToDictionary(one => one.Key, one => one.Marks), StringComparer.Ordinal);

    public static async Task<Dictionary<string, string[]>> ReadAccountsAsync(PipelineRig rig, StoreLayout layout)
    {
        var accounts = new Dictionary<string, string[]>();
        foreach (var number in layout.Facts.StorageAccounts)
        {
            var rows = await RawTable.ReadAsync(ConnectionOf(rig, number), layout.Facts.AccountsTable);
            foreach (var row in rows.GroupBy(row => (row.Domain, Alias: row.Row.Split('!')[0])))
            {
                var domain = row.Key.Domain.Split('!')[0];
                Assert.Equal(PlacementReference.Find(layout.Facts, row.Key.Alias, domain), new PartitionPlace(row.Key.Domain, number));
                accounts.Add($"{row.Key.Alias}@{domain}", [.. row.SelectMany(one => one.Breaches).Order()]);
            }
        }
        return accounts;
    }

    public static async Task<SortedDictionary<string, string>> ReadRangesAsync(PipelineRig rig, StoreLayout layout)
    {
        var all = new SortedDictionary<string, string>(StringComparer.Ordinal);
        foreach (var number in layout.Facts.StorageAccounts)
        {
            foreach (var (hash, marks) in await RawTable.ReadRangesAsync(ConnectionOf(rig, number), layout.Facts.RangesTable))
            {
                Assert.Equal(number, PlacementReference.OfHash(layout.Facts, hash));
                all.Add(hash, marks);
            }
        }
        return all;
    }

    private static string ConnectionOf(PipelineRig rig, int number) => number == 1 ? rig.Connection : rig.Further[number - 2];
}
