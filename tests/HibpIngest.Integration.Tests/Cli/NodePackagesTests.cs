using HibpIngest.Cli.Emulator;

namespace HibpIngest.Integration.Tests.Cli;

public sealed class NodePackagesTests
{
    private const string Locked =
        """
        {"packages":{"":{"name":"us"},"node_modules/one":{"version":"1.0.0"},"node_modules/mac":{"version":"2.0.0","optional":true}}}
        """;

    [Theory]
    [InlineData("an optional package may be missing", """{"packages":{"node_modules/one":{"version":"1.0.0"}}}""", true)]
    [InlineData(
        "all packages are installed",
        """{"packages":{"node_modules/one":{"version":"1.0.0"},"node_modules/mac":{"version":"2.0.0"}}}""", true)]
    [InlineData("another version", """{"packages":{"node_modules/one":{"version":"0.9.0"}}}""", false)]
    [InlineData(
        "another version of an optional package",
        """{"packages":{"node_modules/one":{"version":"1.0.0"},"node_modules/mac":{"version":"1.0.0"}}}""", false)]
    [InlineData("a required package is missing", """{"packages":{}}""", false)]
    [InlineData("no list: the installation was interrupted", null, false)]
    public void MatchesLockFile_compares_installed_packages(string because, string? installed, bool matches)
    {
        using var folder = new TemporaryFolder();
        folder.Write("package-lock.json", Locked);
        Directory.CreateDirectory(Path.Combine(folder.Path, "node_modules"));
        if (installed is not null)
            folder.Write(Path.Combine("node_modules", ".package-lock.json"), installed);

        Assert.True(matches == NodePackages.MatchesLockFile(folder.Path), because);
    }
}
