namespace HibpIngest.Hosting.Local;

/// <summary>Finds files that come with the program, in a folder above it: <c>samples</c>, the emulator's.</summary>
public static class RepositoryFolder
{
    /// <summary>
    /// Full path of the file or folder of that relative path in the nearest folder above the program that has
    /// it; null where none has.
    /// </summary>
    public static string? Find(string relative)
    {
        for (var folder = new DirectoryInfo(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            var candidate = Path.Combine(folder.FullName, relative);
            if (Path.Exists(candidate))
                return candidate;
        }
        return null;
    }
}
