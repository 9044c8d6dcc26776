namespace HibpIngest.Tests.Documents;

public sealed class DocumentTests
{
    private const int MaxLinesOfReadme = 150;

    private const string InlineCode = "`[^`]*`";
    private const string Link = @"\]\((?<found>[^)\s]+)\)";
    private const string NamedPath = @"(?<![\w/.-])(src|tests|infra|samples|docs|\.ci|\.github)/[\w./*-]+";

    // Prose wraps at about 110; unbreakable text may be longer.
    private const int MaxColumns = 120;

    [Fact]
    public void Relative_links_resolve()
    {
        var anchors = DocumentFiles.All.ToDictionary(document => document, Anchors);
        var checkedLinks = 0;
        foreach (var document in DocumentFiles.All)
        {
            foreach (var target in Patterns.Find(Patterns.Replace(DocumentFiles.Prose(document), InlineCode, ""), Link))
            {
                if (target.Contains("://", StringComparison.Ordinal) || target.StartsWith("mailto:", StringComparison.Ordinal))
                    continue;
                checkedLinks++;
                var parts = target.Split('#', 2);
                var folder = Path.GetDirectoryName(Path.Combine(DocumentFiles.Root, document))!;
                var path = Path.GetFullPath(Path.Combine(folder, parts[0].Length == 0 ? Path.GetFileName(document) : parts[0]));
                Assert.True(File.Exists(path) || Directory.Exists(path), $"{document}: the target of the link ({target}) doesn't exist");
                if (parts.Length == 1)
                    continue;
                var name = Path.GetRelativePath(DocumentFiles.Root, path).Replace(Path.DirectorySeparatorChar, '/');
                Assert.True(anchors.TryGetValue(name, out var known), $"{document}: ({target}) has an anchor, but {name} isn't a document");
                Assert.True(known.Contains(parts[1]), $"{document}: no heading matches ({target}); found {string.Join(", ", known)}");
            }
        }
        Assert.True(checkedLinks > 30, "the documents were expected to link to one another");
    }

    [Fact]
    public void The_readme_links_to_every_page()
    {
        var linked = Patterns.Find(DocumentFiles.Read("README.md"), Link).Select(target => target.Split('#')[0]).ToHashSet();
        foreach (var document in DocumentFiles.All.Where(document => document != "README.md").Append("LICENSE"))
            Assert.Contains(document, linked);
    }

    [Fact]
    public void The_readme_is_one_screen()
    {
        var lines = DocumentFiles.Read("README.md").TrimEnd('\n').Split('\n').Length;
        Assert.True(lines <= MaxLinesOfReadme, $"README.md has {lines} lines, expected {MaxLinesOfReadme} at most: move text into docs/");
    }

    [Fact]
    public void Named_files_and_folders_exist()
    {
        foreach (var document in DocumentFiles.All)
        {
            // Build output doesn't exist before a build.
            foreach (var path in Patterns.Find(DocumentFiles.Read(document), NamedPath).Select(path => path.TrimEnd('.', '/'))
                .Where(path => !path.Contains('*', StringComparison.Ordinal) && !path.Contains("/bin/", StringComparison.Ordinal)))
            {
                var full = Path.Combine(DocumentFiles.Root, path);
                Assert.True(File.Exists(full) || Directory.Exists(full), $"{document} names {path}, which doesn't exist");
            }
        }
    }

    [Fact]
    public void Prose_is_wrapped()
    {
        foreach (var document in DocumentFiles.All)
        {
            // A table row is one line, and a URL can't be broken.
            foreach (var (number, line, snippet) in DocumentFiles.Lines(document))
            {
                if (snippet is not null || line.StartsWith('|') || line.Contains("](http", StringComparison.Ordinal))
                    continue;
                Assert.True(line.Length <= MaxColumns, $"{document}, line {number}: {line.Length} characters; prose wraps at about 110");
            }
        }
    }

    /// <summary>Returns GitHub's anchors of a document's headings.</summary>
    private static HashSet<string> Anchors(string document)
    {
        var anchors = new HashSet<string>();
        foreach (var heading in Patterns.Find(DocumentFiles.Prose(document), "^#{1,6} (?<found>.+)$"))
        {
            var name = new StringBuilder();
            foreach (var character in Patterns.Replace(heading.Trim(), @"\[(?<text>[^\]]*)\]\([^)]*\)", "${text}").ToLowerInvariant())
            {
                if (char.IsLetterOrDigit(character) || character is '-' or '_')
                    name.Append(character);
                else if (character == ' ')
                    name.Append('-');
            }
            var anchor = name.ToString();
            for (var number = 1; !anchors.Add(anchor); number++)
                anchor = $"{name}-{number}";
        }
        return anchors;
    }
}
