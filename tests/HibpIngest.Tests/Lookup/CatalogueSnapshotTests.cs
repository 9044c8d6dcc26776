using HibpIngest.Api.Lookup;

namespace HibpIngest.Tests.Lookup;

public sealed class CatalogueSnapshotTests
{
    private readonly MemoryCatalogue _blobs = new();

    [Fact]
    public async Task A_mark_missing_from_either_document_is_ignored()
    {
        // One breach is being added, and one is being removed.
        _blobs.Publish(
            [MemoryCatalogue.Breach("Both"), MemoryCatalogue.Breach("ShownOnly")],
            [new("Both", BreachFlags.None, [1]), new("MarkedOnly", BreachFlags.None, [2])]);
        Assert.Equal(["Both"], await NamesAsync([1, 2, 3]));
        Assert.Equal(1, (await ReadAsync()).HighestMark);
    }

    [Fact]
    public async Task Breaches_are_returned_once_each_in_ordinal_name_order()
    {
        _blobs.Publish(
            ((string[])["Beta", "alpha", "Alpha2"]).Select(MemoryCatalogue.Breach),
            [new("Beta", BreachFlags.None, [1, 4, 9]), new("alpha", BreachFlags.None, [2]), new("Alpha2", BreachFlags.None, [3, 5])]);
        // In ordinal order: capitals come first.
        Assert.Equal(["Alpha2", "Beta", "alpha"], await NamesAsync([1, 2, 3, 4, 5, 9]));
        Assert.Equal(["Beta"], await NamesAsync([4, 9]));
        Assert.Equal(9, (await ReadAsync()).HighestMark);
    }

    [Fact]
    public async Task Marks_beyond_one_row_resolve_and_those_above_the_highest_are_ignored()
    {
        _blobs.Publish();
        Assert.Equal(0, (await ReadAsync()).HighestMark);
        Assert.Empty(await NamesAsync([1, 2]));

        var names = Enumerable.Range(1, 600).Select(i => $"B{i:D3}").ToArray();
        _blobs.Publish(names);
        Assert.Equal(600, (await ReadAsync()).HighestMark);
        Assert.Equal(["B001", "B250", "B251", "B600"], await NamesAsync([1, 250, 251, 600, 601, 10_000]));
        Assert.Equal(names, await NamesAsync([.. Enumerable.Range(1, 700)]));
    }

    [Fact]
    public async Task Sensitive_breaches_are_returned_on_request_only_and_retired_ones_never()
    {
        _blobs.Publish(
            [MemoryCatalogue.Breach("Any"), MemoryCatalogue.Breach("Sensitive") with { IsSensitive = true },
                MemoryCatalogue.Breach("Retired") with { IsRetired = true }],
            [new("Any", BreachFlags.None, [1]), new("Sensitive", BreachFlags.Sensitive, [2]), new("Retired", BreachFlags.Retired, [3])]);
        Assert.Equal(["Any"], await NamesAsync([1, 2, 3]));
        Assert.Equal(["Any", "Sensitive"], await NamesAsync([1, 2, 3], withSensitive: true));
        Assert.Empty(await NamesAsync([2, 3]));
        Assert.Empty(await NamesAsync([]));
    }

    private async Task<CatalogueSnapshot> ReadAsync() =>
        await new CatalogueReader(_blobs, TimeProvider.System, NullLogger<CatalogueReader>.Instance).GetAsync(CancellationToken.None);

    private async Task<string[]> NamesAsync(int[] marks, bool withSensitive = false) =>
        [.. (await ReadAsync()).BreachesOf(marks, withSensitive).Select(breach => breach.Model.Name)];
}
