using System.Security.Cryptography;
using System.Text;
using HibpIngest.Errors;

namespace HibpIngest;

/// <summary>
/// A key of this machine's installation, in a file that only its owner can read: 32 random bytes in base64. Created when it is first
/// needed, exclusively, and never overwritten. Thread-safe, also between processes.
/// </summary>
public sealed class KeyFile(string path)
{
    private const int KeyBytes = 32;

    public string FilePath => path;

    /// <returns>Its text; null: it was not created yet.</returns>
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

    /// <summary>Reads the key, and creates it if it is missing. Processes that do so at once all read the first one's.</summary>
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
                    file.Write(Encoding.ASCII.GetBytes(Convert.ToBase64String(RandomNumberGenerator.GetBytes(KeyBytes)) + "\n"));
                    file.Flush(flushToDisk: true);
                }
                // Whole or not at all, and only the first: what was made under one key is lost under another.
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
            throw new StoreRefusedException($"key file '{path}' can't be created ({e.GetType().Name}): its folder must be writable", e);
        }
        return Read() ?? throw new StoreRefusedException($"key file '{path}' was deleted while it was created");
    }
}
