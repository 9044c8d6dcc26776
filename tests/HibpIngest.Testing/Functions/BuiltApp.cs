namespace HibpIngest.Testing;

/// <summary>A program of this repository as built together with the tests.</summary>
internal static class BuiltApp
{
    /// <summary>Returns the output folder of a project in src, in the configuration of the tests.</summary>
    public static string Folder(string project)
    {
        // .../bin/Release/net10.0
        var output = new DirectoryInfo(AppContext.BaseDirectory);
        return RepositoryFile.Path(Path.Combine("src", project, "bin", output.Parent!.Name, output.Name));
    }
}
