namespace HibpIngest.Tests.Documents;

public sealed class CliPageTests
{
    [Fact]
    public void The_page_matches_the_command_tree()
    {
        var made = CliPage.Make();
        if (Environment.GetEnvironmentVariable("HIBP_GOLDEN") == "write")
            File.WriteAllText(Path.Combine(DocumentFiles.Root, CliPage.Path), made);
        Assert.True(
            made == DocumentFiles.Read(CliPage.Path),
            $"{CliPage.Path} differs from the commands; HIBP_GOLDEN=write dotnet test --filter CliPageTests updates it");
    }
}
