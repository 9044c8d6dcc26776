namespace HibpIngest.Testing;

internal static class RepositoryFile
{
    public static string Path(string path) =>
        RepositoryFolder.Find(path) ?? throw new InvalidOperationException($"the tests run in a folder below {path}");

    /// <summary>Returns the full paths of the C# files in a folder, without what builds and tests have put there.</summary>
    public static IEnumerable<string> Code(string folder) =>
        Directory.EnumerateFiles(Path(folder), "*.cs", SearchOption.AllDirectories)
            .Where(file => !file.Split(System.IO.Path.DirectorySeparatorChar).Any(part => part is "obj" or "bin" or "node_modules"));
}
