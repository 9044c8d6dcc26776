namespace HibpIngest.Testing;

/// <summary>The repository's documents: README.md, docs/*.md, and the pages next to the README.</summary>
internal static partial class DocumentFiles
{
    public static string Root { get; } = Path.GetDirectoryName(RepositoryFile.Path("README.md"))!;

    /// <summary>Paths below <see cref="Root"/>, with slashes.</summary>
    public static IReadOnlyList<string> All { get; } =
    [
        "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
        .. Directory.GetFiles(Path.Combine(Root, "docs"), "*.md").Select(file => $"docs/{Path.GetFileName(file)}")
            .Order(StringComparer.Ordinal),
    ];

    public static string Read(string document) => File.ReadAllText(Path.Combine(Root, document));

    public static string ReadAll() => string.Join("\n\n", All.Select(Read));

    /// <summary>Returns all documents with each line break replaced by a space, so that wrapping doesn't matter.</summary>
    public static string ReadAllUnwrapped() => Blanks().Replace(ReadAll(), " ");

    /// <summary>Returns a document's lines with their numbers and the language of the enclosing snippet; null outside snippets.</summary>
    public static IEnumerable<(int Number, string Line, string? Snippet)> Lines(string document)
    {
        string? snippet = null;
        var number = 0;
        foreach (var line in Read(document).TrimEnd('\n').Split('\n'))
        {
            number++;
            if (!line.StartsWith("```", StringComparison.Ordinal))
                yield return (number, line, snippet);
            else
                snippet = snippet is null ? line[3..] : null;
        }
    }

    /// <summary>Returns the document's snippets of a language: runs of consecutive lines.</summary>
    public static IEnumerable<string> Snippets(string document, string language) =>
        Lines(document).Where(line => line.Snippet == language).Index()
            .GroupBy(one => one.Item.Number - one.Index, (_, lines) => string.Join('\n', lines.Select(one => one.Item.Line)));

    /// <summary>Returns a document's text without its snippets.</summary>
    public static string Prose(string document) =>
        string.Join('\n', Lines(document).Where(line => line.Snippet is null).Select(line => line.Line));

    [GeneratedRegex(@"\s+", RegexOptions.ExplicitCapture, 60_000)]
    private static partial Regex Blanks();
}
