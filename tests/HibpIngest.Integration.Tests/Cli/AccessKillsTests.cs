using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Runs the short forms of the benchmark <c>-- access-kills</c>.</summary>
public sealed class AccessKillsTests(ITestOutputHelper output)
{
    [Fact]
    public async Task What_was_answered_is_logged_whatever_is_killed_or_stopped()
    {
        using var folder = new TemporaryFolder();
        Assert.True(await new AccessKills(folder.Path, output.WriteLine).RunAsync(
            kills: 2, outage: TimeSpan.FromSeconds(5), seed: Environment.TickCount & 0xFFFFFF));
    }

    [Fact]
    public async Task Some_two_thousand_requests_a_second_are_answered_and_each_is_logged()
    {
        using var folder = new TemporaryFolder();
        Assert.True(await new AccessKills(folder.Path, output.WriteLine).HoldAsync(TimeSpan.FromSeconds(20)));
    }
}
