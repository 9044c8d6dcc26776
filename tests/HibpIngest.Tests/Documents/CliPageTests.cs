using HibpIngest.Tests.Cli;

namespace HibpIngest.Tests.Documents;

public sealed class CliPageTests
{
    /// <summary>HIBP_GOLDEN=write dotnet test --filter CliPageTests updates the page.</summary>
    [Fact]
    public void The_page_matches_the_command_tree() => ScreensTests.Compare(CliPage.Path, CliPage.Make());
}
