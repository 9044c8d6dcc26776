namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that a hot domain slows a load down to its partition's rate; the benchmark <c>-- throttle</c> measures it.</summary>
public sealed class ThrottleTests(ITestOutputHelper output)
{
    [Theory]
    [InlineData(0)]
    [InlineData(200)]
    public async Task Slices_wait_for_a_partition_that_throttles_and_write_each_entity_once(int refusalMilliseconds)
    {
        using var folder = new TemporaryFolder();
        // A fifth of the service's limits: 6 slices of 800 rows, 1,600 of them in one domain at 400 per second.
        var limits =
            new TableLimits { PartitionRate = 400, AccountRate = 4_000, RefusalLatency = TimeSpan.FromMilliseconds(refusalMilliseconds) };
        var result = await ThrottledUpsert.MeasureAsync(folder.Path, inFlight: 3, slices: 6, sliceRows: 800, limits);
        output.WriteLine($"{result}, {result.Rate:P0} of what is permitted");
        Assert.Equal((1.0, 0), (result.Written, result.Deferred));
        // On a quiet machine the benchmark measures more than 0.85, and less than 0.1.
        Assert.InRange(result.Rate, 0.2, 1.05);
        Assert.InRange(result.Refused, double.Epsilon, 0.3);
    }
}
