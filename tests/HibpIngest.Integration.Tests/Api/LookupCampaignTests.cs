using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>Runs the short form of the benchmark <c>-- lookups</c>: every response equals what a separate script expects.</summary>
public sealed class LookupCampaignTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Accounts_and_ranges_are_answered_as_a_script_expects_while_another_breach_is_half_loaded()
    {
        using var folder = new TemporaryFolder();
        Assert.True(await new LookupCampaign(folder.Path, output.WriteLine).RunAsync(
            accounts: 500, drawn: 200, prefixes: 60, loading: 6_000, seed: Environment.TickCount & 0xFFFFFF, freezes: true));
    }
}
