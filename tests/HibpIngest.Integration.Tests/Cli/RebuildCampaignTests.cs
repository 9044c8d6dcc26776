using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Runs the short forms of the benchmarks <c>-- rebuild</c> and <c>-- rebuilds</c>.</summary>
public sealed class RebuildCampaignTests(ITestOutputHelper output)
{
    [Fact]
    public async Task A_rebuild_that_is_killed_beside_a_load_comes_to_what_a_script_expects()
    {
        using var folder = new TemporaryFolder();
        Assert.True(await new RebuildCampaign(folder.Path, output.WriteLine).RunAsync(
            accounts: 1_000, kills: 1, seed: Environment.TickCount & 0xFFFFFF, skipsTime: true));
    }

    [Fact]
    public async Task A_rebuild_makes_the_requests_that_were_counted_within_its_memory()
    {
        using var folder = new TemporaryFolder();
        Assert.True((await new RebuildBenchmark(rows: 200_000, count: 1, folder.Path).RunAsync(leastSaving: 1.5)).Requests);
    }
}
