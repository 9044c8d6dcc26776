using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Tests.Documents;

/// <summary>Tests numbers in docs/deploying.md and docs/api.md that are defined by the code or the templates.</summary>
public sealed class DeployingPageTests
{
    private static readonly string Page = DocumentFiles.Read("docs/deploying.md");

    [Fact]
    public void Function_instance_and_alert_counts_match_the_templates()
    {
        var functions = AppFunctions.Pipeline.Count;
        var (smallest, full) = (Instances("smallest"), Instances("full-power"));
        Assert.Contains(
            $"| instances at most | {smallest} | {full} | each of the {functions} functions scales by itself;", Page,
            StringComparison.Ordinal);
        Assert.Contains($"| instances | {smallest} x 0.5 GB: ", Page, StringComparison.Ordinal);
        Assert.Contains($"| {full} x 4 GB: ", Page, StringComparison.Ordinal);

        var alerts = Patterns.Find(DocumentFiles.Read("infra/modules/monitoring.bicep"), "^    ofWeb: ").Count();
        var cost = (alerts * 1.5).ToString("0.00", CultureInfo.InvariantCulture);
        Assert.Contains($"| alerts | {alerts} x 1.50 = {cost} | {cost} |", Page, StringComparison.Ordinal);
        Assert.Equal(alerts, Directory.GetFiles(Path.Combine(DocumentFiles.Root, "infra", "alerts"), "*.kql").Length);

        static string Instances(string size) =>
            Patterns.Find(DocumentFiles.Read($"infra/{size}.bicepparam"), @"^param maximumInstanceCount = (?<found>\d+)").First();
    }

    [Fact]
    public void The_web_functions_methods_match_its_trigger()
    {
        var methods = ((HttpTriggerAttribute)AppFunctions.Api["Web"]).Methods!.Select(method => $"`{method.ToUpperInvariant()}`").ToList();
        Assert.Contains(
            $"One function, `Web`: {string.Join(", ", methods.SkipLast(1))} and {methods[^1]}", Page.ReplaceLineEndings(" "),
            StringComparison.Ordinal);
    }
}
