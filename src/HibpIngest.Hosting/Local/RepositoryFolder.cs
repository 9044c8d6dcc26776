namespace HibpIngest.Hosting.Local;

/// <summary>Finds files of the repository, in a folder above.</summary>
public static class RepositoryFolder
{
    /// <summary>
    /// Full path of the file or folder of that relative path in the nearest folder above that has it; null where none has.
    /// </summary>
    /// <param name="relative">Its path from the repository's top.</param>
    /// <param name="from">The folder to begin in; null: the program's.</param>
    public static string? Find(string relative, string? from = null)
    {
        for (var folder = new DirectoryInfo(from ?? AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            var candidate = Path.Combine(folder.FullName, relative);
            if (Path.Exists(candidate))
                return candidate;
        }
        return null;
    }
}
