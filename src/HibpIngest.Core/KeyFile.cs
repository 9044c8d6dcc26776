namespace HibpIngest;

/// <summary>
/// A key of this machine's installation in a file that only its owner can read: 32 random bytes in base64. Created exclusively on first
/// use, never overwritten. Safe for concurrent threads and processes.
/// </summary>
public sealed class KeyFile(string path)
{
    public string FilePath => path;

    /// <returns>The key's text; null if the file does not exist yet.</returns>
    /// <exception cref="StoreRefusedException">The file can't be read.</exception>
    public string? Read()
    {
        try
        {
            return File.ReadAllText(path).Trim();
        }
        catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException)
        {
            return null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new StoreRefusedException($"key file '{path}' can't be read ({e.GetType().Name}): run as its owner", e);
        }
    }

    /// <summary>Reads the key, and creates it if it is missing. Concurrent processes all read the one that was created first.</summary>
    /// <exception cref="StoreRefusedException">The file can't be created or read.</exception>
    public string ReadOrCreate()
    {
        if (Read() is { } there)
            return there;
        var written = $"{path}.{Guid.NewGuid():N}";
        try
        {
            var folder = Path.GetDirectoryName(Path.GetFullPath(path))!;
            Directory.CreateDirectory(folder);
            try
            {
                var options = new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.Write };
                if (!OperatingSystem.IsWindows())
                    options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
                using (var file = new FileStream(written, options))
                {
                    file.Write(Encoding.ASCII.GetBytes(KeyText.Generate() + "\n"));
                    file.Flush(flushToDisk: true);
                }
                // Complete or not at all, and only the first: data encrypted under one key is lost under another.
                _ = DiskFolder.TryName(written, path);
                DiskFolder.Flush(folder);
            }
            finally
            {
                File.Delete(written);
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new StoreRefusedException(
                $"key file '{path}' can't be created ({e.GetType().Name}); make its folder writable for this user", e);
        }
        return Read() ?? throw new StoreRefusedException(
            $"key file '{path}' was deleted while it was being created; run the command again");
    }
}
