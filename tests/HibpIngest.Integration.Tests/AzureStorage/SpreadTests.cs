namespace HibpIngest.Integration.Tests.AzureStorage;

/// <summary>Simulates the points of the benchmark <c>-- spread</c> that have a requirement, and lets each requirement fail.</summary>
public sealed class SpreadTests(ITestOutputHelper output)
{
    private const double Scale = 10;

    // Slices have fewer domains than in the full form, and so fewer transactions, nine tenths of which hold one or two accounts.
    private const int TailOfSlices = 200;
    private const double ScaleOfSlices = 10;

    private static readonly SpreadParameters Parameters = SpreadParameters.Read(SpreadParameters.DefaultFile);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Load_over_ten_accounts_meets_its_requirements(bool withRanges) =>
        Assert.Empty(FaultsOf(
            Parameters with { TailDomains = TailOfSlices }, new SpreadPoint(10, 32, withRanges, IsRebuild: false), ScaleOfSlices));

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Rebuild_with_overlapping_merged_partitions_meets_its_requirements(bool withRanges) =>
        Assert.Empty(FaultsOf(Parameters with { MergedAtOnce = 2 }, new SpreadPoint(10, 32, withRanges, IsRebuild: true)));

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Single_partition_reaches_the_published_rate(bool isRebuild) =>
        Assert.Empty(FaultsOf(Parameters, new SpreadPoint(10, 1, WithRanges: false, isRebuild), scale: 50));

    [Fact]
    public void Entities_all_in_one_account_take_too_long() =>
        Assert.Contains(FaultsOf(Parameters, new SpreadPoint(10, 32, false, IsRebuild: true) { IsOneAccount = true }), fault =>
            fault.Contains("minutes at most", StringComparison.Ordinal));

    [Fact]
    public void Immediate_retries_are_refused_too_often() =>
        Assert.Contains(
            FaultsOf(Parameters, new SpreadPoint(10, 32, false, IsRebuild: true) { IsHasty = true }, scale: 50),
            fault => fault.Contains("refused at most", StringComparison.Ordinal));

    [Fact]
    public void Service_slower_than_published_fails_the_requirement() =>
        Assert.Contains(
            FaultsOf(Parameters with { PartitionRate = 1_500 }, new SpreadPoint(10, 1, WithRanges: false, IsRebuild: true), scale: 50),
            fault => fault.Contains("into the largest domain", StringComparison.Ordinal));

    private List<string> FaultsOf(SpreadParameters parameters, SpreadPoint point, double scale = Scale)
    {
        var seed = Environment.TickCount & 0xFFFFFF;
        var result = new SpreadRun(parameters, point, scale, seed).Run();
        output.WriteLine($"{point}: seed {seed}, {result}");
        return [.. point.FaultsOf(result)];
    }
}
