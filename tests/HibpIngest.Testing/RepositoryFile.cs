using HibpIngest.Hosting;

namespace HibpIngest.Testing;

/// <summary>Finds files of the repository that contains the tests.</summary>
internal static class RepositoryFile
{
    public static string Path(string path) =>
        RepositoryFolder.Find(path) ?? throw new InvalidOperationException($"the tests run in a folder below {path}");
}
