using HibpIngest.Benchmarks;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>
/// Runs the short form of the benchmark <c>-- passwordimport</c>: every range equals what a separate script expects,
/// from each back end and after kills.
/// </summary>
public sealed class PasswordCampaignTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Ranges_are_answered_as_a_script_expects_from_each_back_end_and_after_imports_were_killed()
    {
        using var folder = new TemporaryFolder();
        Assert.True(await new PasswordCampaign(folder.Path, output.WriteLine).RunAsync(
            rows: 40_000, drawn: 20, kills: 3, seed: Environment.TickCount & 0xFFFFFF, most: null));
    }
}
