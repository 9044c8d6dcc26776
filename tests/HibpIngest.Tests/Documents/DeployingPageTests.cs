using System.Text.RegularExpressions;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Tests.Documents;

/// <summary>Tests numbers in docs/deploying.md and docs/api.md that are defined by the code or the templates.</summary>
public sealed partial class DeployingPageTests
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

        var alerts = Alert().Count(DocumentFiles.Read("infra/modules/monitoring.bicep"));
        var cost = (alerts * 1.5).ToString("0.00", CultureInfo.InvariantCulture);
        Assert.Contains($"| alerts | {alerts} x 1.50 = {cost} | {cost} |", Page, StringComparison.Ordinal);
        Assert.Equal(alerts, Directory.GetFiles(Path.Combine(DocumentFiles.Root, "infra", "alerts"), "*.kql").Length);

        static string Instances(string size) =>
            MaximumInstanceCount().Match(DocumentFiles.Read($"infra/{size}.bicepparam")).Groups["count"].Value;
    }

    [Fact]
    public void The_web_functions_methods_match_its_trigger()
    {
        var methods = ((HttpTriggerAttribute)AppFunctions.Api["Web"]).Methods!.Select(method => $"`{method.ToUpperInvariant()}`").ToList();
        Assert.Contains(
            $"One function, `Web`: {string.Join(", ", methods.SkipLast(1))} and {methods[^1]}", WhiteSpace().Replace(Page, " "),
            StringComparison.Ordinal);
    }

    [GeneratedRegex(@"^param maximumInstanceCount = (?<count>\d+)", RegexOptions.Multiline | RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex MaximumInstanceCount();

    [GeneratedRegex(@"^    ofWeb: ", RegexOptions.Multiline, 1000)]
    private static partial Regex Alert();

    [GeneratedRegex(@"\s+", RegexOptions.None, 1000)]
    private static partial Regex WhiteSpace();
}
