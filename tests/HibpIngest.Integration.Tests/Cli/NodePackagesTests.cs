using HibpIngest.Cli.Emulator;

namespace HibpIngest.Integration.Tests.Cli;

public sealed class NodePackagesTests
{
    private const string Locked =
        """
        {"packages":{"":{"name":"us"},"node_modules/one":{"version":"1.0.0"},"node_modules/mac":{"version":"2.0.0","optional":true}}}
        """;

    [Theory]
    [InlineData("""{"packages":{"node_modules/one":{"version":"1.0.0"}}}""", true)]
    [InlineData("""{"packages":{"node_modules/one":{"version":"1.0.0"},"node_modules/mac":{"version":"2.0.0"}}}""", true)]
    [InlineData("""{"packages":{"node_modules/one":{"version":"0.9.0"}}}""", false)]
    [InlineData("""{"packages":{"node_modules/one":{"version":"1.0.0"},"node_modules/mac":{"version":"1.0.0"}}}""", false)]
    [InlineData("""{"packages":{}}""", false)]
    [InlineData(null, false)]
    public void IsAsLocked_compares_installed_packages_with_the_lock_file(string? installed, bool isAsLocked)
    {
        using var folder = new TemporaryFolder();
        folder.Write("package-lock.json", Locked);
        Directory.CreateDirectory(Path.Combine(folder.Path, "node_modules"));
        if (installed is not null)
            folder.Write(Path.Combine("node_modules", ".package-lock.json"), installed);

        Assert.Equal(isAsLocked, NodePackages.IsAsLocked(folder.Path));
    }
}
