namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>A load of a million accounts, of ten million in the long form, whose process is killed in each stage.</summary>
public sealed class LargeLoadCampaignTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Each_account_and_mail_of_a_large_load_is_right_after_three_kills()
    {
        using var folder = new TemporaryFolder();
        var isLong = Campaign.IsLong;
        var load = new LargeLoad(folder.Path, isLong ? 10_000_000 : 1_000_000, isTimePassed: !isLong, output.WriteLine);
        output.WriteLine($"{await load.RunAsync(LargeLoad.MaxKills)}");
    }
}
