using HibpIngest.Hosting.Local;

namespace HibpIngest.Testing;

/// <summary>Files of the repository that the tests run in.</summary>
internal static class RepositoryFile
{
    /// <summary>The full path of one.</summary>
    public static string Path(string path) =>
        RepositoryFolder.Find(path) ?? throw new InvalidOperationException($"the tests run in a folder below {path}");
}
