namespace HibpIngest.Hosting;

/// <summary>The folder of an installation, one per user: two folders would mean two databases sharing one emulator.</summary>
public static class HomeFolder
{
    public const string Variable = "HIBP_HOME";

    private const string InRepository = ".hibp";
    private const string Program = "hibp";

    /// <summary>
    /// Returns <paramref name="named"/> if given; else <c>.hibp</c> at the top of the repository that contains the current folder; else
    /// <c>hibp</c> in the platform's data folder (<c>~/.local/share</c> by the XDG base directory specification, <c>~/Library/Application
    /// Support</c>, <c>%LOCALAPPDATA%</c>). The path is relative if it lies below the current folder.
    /// </summary>
    public static string Find(string? named)
    {
        var current = Environment.CurrentDirectory;
        if (!string.IsNullOrWhiteSpace(named))
            return Below(current, Path.GetFullPath(named));
        if (RepositoryFolder.Find("HibpIngest.sln", current) is { } solution)
            return Below(current, Path.Combine(Path.GetDirectoryName(solution)!, InRepository));
        var platform =
            Environment.GetFolderPath(Environment.SpecialFolder.LocalApplicationData, Environment.SpecialFolderOption.DoNotVerify);
        // A user without a home, as of some services, has no such folder; the current folder can at least be found again.
        return platform.Length == 0 ? InRepository : Below(current, Path.Combine(platform, Program));
    }

    /// <summary>Returns the folder for data that can be recreated.</summary>
    /// <returns>Null for a user without a home.</returns>
    public static string? FindCache()
    {
        if (OperatingSystem.IsWindows())
            return In(Environment.GetFolderPath(Environment.SpecialFolder.LocalApplicationData), Program, "cache");
        var home = Environment.GetFolderPath(Environment.SpecialFolder.UserProfile);
        if (OperatingSystem.IsMacOS())
            return In(home, "Library", "Caches", Program);
        // The specification requires that a relative path is ignored (specifications.freedesktop.org/basedir-spec).
        return Environment.GetEnvironmentVariable("XDG_CACHE_HOME") is { } cache && Path.IsPathFullyQualified(cache)
            ? Path.Combine(cache, Program) : In(home, ".cache", Program);

        static string? In(string folder, params ReadOnlySpan<string> names) =>
            folder.Length == 0 ? null : Path.Combine([folder, .. names]);
    }

    private static string Below(string current, string path)
    {
        var relative = Path.GetRelativePath(current, path);
        return Path.IsPathRooted(relative) || relative.StartsWith("..", StringComparison.Ordinal) ? path : relative;
    }
}

public static class RepositoryFolder
{
    /// <summary>Returns the full path of a file or folder in the nearest parent folder that contains it; null if none does.</summary>
    /// <param name="from">The folder to begin in; if null, the program's.</param>
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
