namespace HibpIngest.Cli.Emulator;

// The folder is named by the files' content: two versions of this program don't overwrite each other's.
internal static class EmulatorPackage
{
    private const string Prefix = "emulator/";

    private static readonly (string Name, byte[] Content)[] Files =
    [
        .. from resource in typeof(EmulatorPackage).Assembly.GetManifestResourceNames()
           where resource.StartsWith(Prefix, StringComparison.Ordinal)
           orderby resource
           select (resource[Prefix.Length..], Read(resource)),
    ];

    public static string Folder
    {
        get
        {
            if (Environment.GetEnvironmentVariable(AzuriteEmulator.FolderVariable) is { Length: > 0 } named)
                return Path.GetFullPath(named);
            return HomeFolder.FindCache() is { } cache
                ? Path.Combine(cache, $"emulator-{Version()}")
                : throw new NotPossibleException($"the storage emulator has no installation folder, because this user has no home: set "
                    + $"{AzuriteEmulator.FolderVariable} to one, or HIBP_STORAGE to a storage account");
        }
    }

    public static void Unpack(string folder)
    {
        try
        {
            Directory.CreateDirectory(folder);
            foreach (var (name, content) in Files)
            {
                var path = Path.Combine(folder, name);
                if (File.Exists(path) && File.ReadAllBytes(path).AsSpan().SequenceEqual(content))
                    continue;
                // Renamed, so that a process that starts concurrently never reads a partial file.
                var partial = $"{path}.{Guid.NewGuid():N}";
                File.WriteAllBytes(partial, content);
                File.Move(partial, path, overwrite: true);
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new NotPossibleException($"the storage emulator can't be put into {folder} ({e.Message}): set "
                + $"{AzuriteEmulator.FolderVariable} to another folder, or HIBP_STORAGE to a storage account");
        }
    }

    private static string Version() =>
        Convert.ToHexStringLower(SHA256.HashData([.. Files.SelectMany(file => file.Content)]).AsSpan(0, 4));

    private static byte[] Read(string resource)
    {
        using var stream = typeof(EmulatorPackage).Assembly.GetManifestResourceStream(resource)!;
        var content = new byte[stream.Length];
        stream.ReadExactly(content);
        return content;
    }
}
