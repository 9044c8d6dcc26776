using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>Runs the short form of the benchmark <c>-- appends</c>: each append counts once in spite of kills and duplicates.</summary>
public sealed class AppendCampaignTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Appends_count_once_while_processes_are_killed_and_messages_come_twice()
    {
        using var folder = new TemporaryFolder();
        Assert.True(await new AppendCampaign(folder.Path, output.WriteLine).RunAsync(
            appends: 10, rows: 30, kills: 2, seed: Environment.TickCount & 0xFFFFFF, skipsTime: true));
    }
}
