using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.AzureStorage;

/// <summary>
/// Simulates the points of the benchmark <c>-- spread</c> that have a requirement, and checks that the requirements
/// can fail.
/// </summary>
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
    public void A_load_over_ten_accounts_takes_little_more_than_the_limits_demand(bool withRanges) =>
        Assert.Empty(FaultsOf(
            Parameters.With("tailDomains", TailOfSlices), new SpreadPoint(10, 32, withRanges, IsRebuild: false), ScaleOfSlices));

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void So_does_a_rebuild_where_merged_partitions_overlap(bool withRanges) =>
        Assert.Empty(FaultsOf(Parameters.With("mergedAtOnce", 2), new SpreadPoint(10, 32, withRanges, IsRebuild: true)));

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void One_partition_takes_what_is_published_however_many_accounts_there_are(bool isRebuild) =>
        Assert.Empty(FaultsOf(Parameters, new SpreadPoint(10, 1, WithRanges: false, isRebuild), scale: 50));

    [Fact]
    public void What_lies_in_one_account_all_the_same_takes_too_long() =>
        Assert.Contains(FaultsOf(Parameters, new SpreadPoint(10, 32, false, IsRebuild: true) { IsOneAccount = true }), fault =>
            fault.Contains("minutes at most", StringComparison.Ordinal));

    [Fact]
    public void Whoever_sends_again_at_once_is_refused_too_often() =>
        Assert.Contains(
            FaultsOf(Parameters, new SpreadPoint(10, 32, false, IsRebuild: true) { IsHasty = true }, scale: 50),
            fault => fault.Contains("refused at most", StringComparison.Ordinal));

    [Fact]
    public void A_slower_service_is_told_from_the_published_one() =>
        Assert.Contains(
            FaultsOf(Parameters.With("partitionRate", 1_500), new SpreadPoint(10, 1, WithRanges: false, IsRebuild: true), scale: 50),
            fault => fault.Contains("into the largest domain", StringComparison.Ordinal));

    private List<string> FaultsOf(SpreadParameters parameters, SpreadPoint point, double scale = Scale)
    {
        var seed = Environment.TickCount & 0xFFFFFF;
        var result = new SpreadRun(parameters, point, scale, seed).Run();
        output.WriteLine($"{point}: seed {seed}, {result}");
        return [.. point.FaultsOf(result)];
    }
}
