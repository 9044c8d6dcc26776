namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests how <c>hibp demo</c> fails. <see cref="ToolPackageTests"/> runs it with the sample.</summary>
public sealed class DemoTests
{
    [Fact]
    public async Task Demo_of_a_damaged_zip_fails_with_its_reason()
    {
        using var folder = new TemporaryFolder();
        var sample = File.ReadAllBytes(RepositoryFile.Path("samples/Contoso.zip"));
        var damaged = folder.Write("Damaged.zip", sample[..(sample.Length / 2)]);
        var demo = await HibpProcess.RunAsync(folder.Path, new Dictionary<string, string>(), "demo", damaged, "--json");
        Assert.Equal(1, demo.ExitCode);
        var error = demo.Json.GetProperty("error");
        Assert.Equal(1, error.Number("exitCode"));
        Assert.StartsWith("load 1 of Damaged failed: ", error.Text("message"), StringComparison.Ordinal);
        Assert.StartsWith(
            "error: load 1 of Damaged failed: ",
            Assert.Single(demo.Error.Split('\n'), line => line.Contains("error", StringComparison.Ordinal)), StringComparison.Ordinal);
    }
}
