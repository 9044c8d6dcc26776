using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Runs the short forms of the benchmarks <c>-- callbacks</c> and <c>-- callback-kills</c>.</summary>
public sealed class CallbackCampaignTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Clients_are_told_what_a_script_expects_though_a_host_is_killed()
    {
        using var folder = new TemporaryFolder();
        Assert.True(await new CallbackCampaign(folder.Path, output.WriteLine).RunAsync(
            accounts: 1_000, kills: 1, seed: Environment.TickCount & 0xFFFFFF, skipsTime: true));
    }

    [Fact]
    public async Task Each_call_that_is_found_is_made_once()
    {
        using var folder = new TemporaryFolder();
        var result = await CallbackBenchmark.RunAsync(accounts: 60_000, subscriptions: 10_000_000, calls: 0, folder.Path);
        // 60,000 accounts, 45% of all prefixes watched.
        Assert.InRange(result.Found, 25_000, 29_000);
        Assert.Equal((result.Found, result.Found), (result.Made, result.Received));
    }
}
