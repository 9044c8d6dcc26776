namespace HibpIngest.Hosting;

public static class RepositoryFolder
{
    /// <summary>Returns the full path of a file or folder in the nearest parent folder that contains it.</summary>
    /// <param name="relative">Path from the top of the repository.</param>
    /// <param name="from">The folder to begin in; null: the program's.</param>
    /// <returns>Null: no parent folder contains it.</returns>
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
