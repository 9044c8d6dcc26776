namespace HibpIngest.Tests.Documents;

/// <summary>Tests that the words which readers stumbled over don't return.</summary>
public sealed partial class LanguageTests
{
    private static readonly string[] Extensions = [".cs", ".md", ".bicep", ".bicepparam", ".sh", ".kql", ".sql", ".txt", ".html", ".cjs"];
    private static readonly string[] Generated = ["bin", "obj", "node_modules", "TestResults", ".git", ".hibp"];

    [Fact]
    public void Prose_uses_the_terms_of_the_field()
    {
        var files = Files(new DirectoryInfo(Path.GetDirectoryName(RepositoryFile.Path("HibpIngest.sln"))!))
            .Where(file => file.Name != $"{nameof(LanguageTests)}.cs").ToList();
        Assert.True(files.Count > 900, $"{files.Count} files");
        var found =
            from file in files
            from line in File.ReadLines(file.FullName).Select((text, index) => (Text: text, Number: index + 1))
            where Dialect().IsMatch(line.Text)
            select $"{file.Name}:{line.Number}: {Dialect().Match(line.Text).Value}";
        Assert.Empty(found);
    }

    private static IEnumerable<FileInfo> Files(DirectoryInfo folder) =>
        folder.EnumerateFiles().Where(file => Extensions.Contains(file.Extension))
            .Concat(folder.EnumerateDirectories().Where(inner => !Generated.Contains(inner.Name)).SelectMany(Files));

    [GeneratedRegex(
        @"\b(?:anew|whoever|mends?|mending|puts? off|takes? on where|has it in hand|gone on with|goes on where|go on where"
        + @"|broken off|gives? no sign|half there|comes again|is another than|a word to anybody|what becomes of)\b",
        RegexOptions.ExplicitCapture | RegexOptions.IgnoreCase, 60_000)]
    private static partial Regex Dialect();
}
