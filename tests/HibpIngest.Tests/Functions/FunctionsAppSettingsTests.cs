using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Tests.Functions;

/// <summary>Tests the settings of the Functions apps that differ from those of other hosts.</summary>
public sealed class FunctionsAppSettingsTests
{
    [Theory]
    [InlineData(null, null, "00:08:00", "00:09:30")]
    [InlineData("00:25:00", null, "00:25:00", "00:26:30")]
    [InlineData("00:25:00", "00:29:00", "00:25:00", "00:29:00")]
    [InlineData("00:00:00", null, "00:00:00", "00:00:00")]
    public void The_time_budget_has_a_default_and_the_plan_limit_follows_it(
        string? budget, string? limit, string expectedBudget, string expectedLimit)
    {
        var options = Read(("HIBP_TIMEBUDGET", budget), ("HIBP_PLANLIMIT", limit)).Get<IngestOptions>();
        Assert.Equal((expectedBudget, expectedLimit), (options.TimeBudget.ToString(), options.PlanLimit.ToString()));
    }

    [Fact]
    public void BreachStorage_is_the_fallback_for_HIBP_STORAGE()
    {
        Assert.Equal("one", Read(("HIBP_STORAGE", "one"), ("BreachStorage", "two")).Storage);
        Assert.Equal("two", Read(("HIBP_STORAGE", null), ("BreachStorage", "two"), ("BreachStorage__blobServiceUri", "three")).Storage);
        Assert.Equal("three", Read(("HIBP_STORAGE", null), ("BreachStorage__blobServiceUri", "three")).Storage);
    }

    [Fact]
    public void AzureWebJobsStorage_is_never_used_as_the_pipelines_account()
    {
        foreach (var name in new[] { "AzureWebJobsStorage", "AzureWebJobsStorage__accountName", "AzureWebJobsStorage__blobServiceUri" })
        {
            var error = Assert.Throws<WrongSettingsException>(() => Read(("HIBP_STORAGE", null), (name, "hosts")));
            Assert.Equal("expected HIBP_STORAGE or BreachStorage to name the storage account; neither is set", error.Message);
        }
    }

    private static PipelineSettings Read(params (string Name, string? Value)[] variables)
    {
        (string Name, string? Value)[] usual = [("HIBP_STORAGE", "account"), ("HIBP_DATABASE", "file.db"), ("HIBP_MAIL", "pickup:mail")];
        return FunctionsAppSettings.ReadPipeline(
            variables.Concat(usual).DistinctBy(one => one.Name).Where(one => one.Value is not null).ToDictionary());
    }
}
