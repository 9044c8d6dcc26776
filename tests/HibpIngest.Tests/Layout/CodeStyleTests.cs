namespace HibpIngest.Tests.Layout;

public sealed class CodeStyleTests
{
    private const int MaxColumns = 140;

    [Fact]
    public void Code_lines_have_at_most_140_columns()
    {
        var files = new[] { "src", "tests", "infra" }.SelectMany(RepositoryFile.Code).ToList();
        Assert.True(files.Count > 300, $"{files.Count} files");
        var tooLong =
            from file in files
            from line in File.ReadLines(file).Select((text, index) => (text, number: index + 1))
            where line.text.Length > MaxColumns
            select $"{Path.GetFileName(file)}:{line.number} has {line.text.Length} columns";
        Assert.Empty(tooLong);
    }
}
