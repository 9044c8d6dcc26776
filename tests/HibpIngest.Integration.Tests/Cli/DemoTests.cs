namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests <c>hibp demo</c> as in a fresh clone.</summary>
public sealed class DemoTests : IDisposable
{
    private static readonly Dictionary<string, string> NoVariables = [];

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Demo_takes_the_sample_through_every_stage()
    {
        var demo = (await HibpProcess.RunAsync(_folder.Path, NoVariables, "demo", "--json")).Succeeded();
        var document = demo.Json;
        Assert.Equal(
            ["breach", "load", "accounts", "rejected", "batches", "slices", "entities", "notifications", "seconds", "found",
                "subscribed"],
            document.EnumerateObject().Select(property => property.Name));
        Assert.Equal(
            ["ingest", "upsert", "notify", "total"], document.GetProperty("seconds").EnumerateObject().Select(property => property.Name));
        Assert.Equal("Contoso", document.GetProperty("breach").GetString());
        Assert.Equal(["Contoso"], document.GetProperty("found").EnumerateArray().Select(breach => breach.GetString()!));
        var accounts = document.GetProperty("accounts").GetInt64();
        Assert.True(accounts > 0);
        Assert.Equal(accounts, document.GetProperty("entities").GetInt64());
        Assert.True(document.GetProperty("rejected").GetInt64() > 0);
        Assert.All(document.GetProperty("seconds").EnumerateObject(), part => Assert.True(part.Value.GetDouble() >= 0));
        Assert.True(document.GetProperty("seconds").GetProperty("total").GetDouble() > 0);
        var mails = Directory.GetFiles(Path.Combine(_folder.Path, ".hibp", "demo", "mail"), "*.eml").Length;
        Assert.True(mails > 0);
        Assert.Equal(document.GetProperty("notifications").GetInt32(), mails);
        Assert.DoesNotContain("@", demo.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Demo_of_a_damaged_zip_fails_with_its_reason()
    {
        var sample = File.ReadAllBytes(HibpIngest.Hosting.RepositoryFolder.Find(Path.Combine("samples", "Contoso.zip"))!);
        var damaged = _folder.Write("Damaged.zip", sample[..(sample.Length / 2)]);
        var demo = await HibpProcess.RunAsync(_folder.Path, NoVariables, "demo", damaged, "--json");
        Assert.Equal(1, demo.ExitCode);
        using var output = System.Text.Json.JsonDocument.Parse(demo.Output);
        var error = output.RootElement.GetProperty("error");
        Assert.Equal(1, error.GetProperty("exitCode").GetInt32());
        Assert.StartsWith("load 1 of Damaged failed: ", error.GetProperty("message").GetString(), StringComparison.Ordinal);
        Assert.StartsWith(
            "error: load 1 of Damaged failed: ",
            Assert.Single(demo.Error.Split('\n'), line => line.Contains("error", StringComparison.Ordinal)), StringComparison.Ordinal);
    }
}
