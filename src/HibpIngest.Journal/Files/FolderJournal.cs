using System.Runtime.CompilerServices;

namespace HibpIngest.Journal.Files;

/// <summary>
/// The journal in a folder of a local disk. Content is written to a temporary file, flushed to disk, and then renamed unless the name
/// exists: as with blobs, a file is complete or absent, and is never replaced.
/// </summary>
/// <param name="folder">Stands for the container; need not exist.</param>
public sealed class FolderJournal(string folder) : IJournalBlobs
{
    /// <summary>Azure's limit for a blob's name.</summary>
    private const int MaxNameLength = 1024;

    /// <summary>Folder of the temporary files; no blob's name begins with a period.</summary>
    private const string TemporaryFolder = ".unfinished";

    private readonly string _root = Path.GetFullPath(folder);

    public Task CreateAsync(CancellationToken cancellationToken) =>
        Call("creating the journal's folder", () => Directory.CreateDirectory(_root));

    public async IAsyncEnumerable<JournalBlob> ListAsync(string prefix, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var found = await Call("listing the journal", () => List(prefix));
        foreach (var blob in found)
        {
            cancellationToken.ThrowIfCancellationRequested();
            yield return blob;
        }
    }

    public Task<long?> FindAsync(string name, CancellationToken cancellationToken)
    {
        var file = new FileInfo(PathOf(name));
        return Call("look-up in the journal", () => file.Exists ? file.Length : (long?)null);
    }

    public Task<Stream?> OpenAsync(string name, long offset, long length, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfLessThan(length, 1);
        var path = PathOf(name);
        return Call<Stream?>("reading the journal", () =>
        {
            try
            {
                return new FilePart(path, offset, length);
            }
            catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException)
            {
                return null;
            }
        });
    }

    public Task<bool> WriteAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken) =>
        WriteAsync(name, async file => await file.WriteAsync(content, cancellationToken));

    public Task<bool> UploadAsync(string name, Stream content, CancellationToken cancellationToken) =>
        WriteAsync(name, file => content.CopyToAsync(file, cancellationToken));

    public Task DeleteAsync(string name, CancellationToken cancellationToken)
    {
        var path = PathOf(name);
        return Call("deletion in the journal", () =>
        {
            try
            {
                File.Delete(path);
            }
            catch (DirectoryNotFoundException)
            {
                // The file doesn't exist either.
            }
            return true;
        });
    }

    private Task<bool> WriteAsync(string name, Func<Stream, Task> write)
    {
        var path = PathOf(name);
        return Call("writing the journal", async () =>
        {
            if (!Directory.Exists(_root))
                throw new StoreMissingException($"the journal's folder '{_root}' does not exist: create it first");
            if (File.Exists(path))
                return false;
            var temporary = Directory.CreateDirectory(Path.Combine(_root, TemporaryFolder)).FullName;
            var file = Path.Combine(temporary, Path.GetRandomFileName());
            try
            {
                await using (var stream = new FileStream(file, FileMode.CreateNew, FileAccess.Write, FileShare.None))
                {
                    await write(stream);
                    stream.Flush(flushToDisk: true);
                }
                Directory.CreateDirectory(Path.GetDirectoryName(path)!);
                if (!DiskFolder.TryName(file, path))
                    return false;
            }
            finally
            {
                File.Delete(file);
            }
            for (var named = Path.GetDirectoryName(path)!; named.Length >= _root.Length; named = Path.GetDirectoryName(named)!)
                DiskFolder.Flush(named);
            return true;
        });
    }

    private List<JournalBlob> List(string prefix)
    {
        if (!Directory.Exists(_root))
            return [];
        var found =
            from file in new DirectoryInfo(_root).EnumerateFiles("*", SearchOption.AllDirectories)
            let name = Path.GetRelativePath(_root, file.FullName).Replace(Path.DirectorySeparatorChar, '/')
            where name.StartsWith(prefix, StringComparison.Ordinal) && !name.StartsWith(TemporaryFolder, StringComparison.Ordinal)
            select new JournalBlob(name, file.Length);
        return [.. found.OrderBy(blob => blob.Name, StringComparer.Ordinal)];
    }

    /// <summary>Refuses names that would leave the folder, or that some file system would interpret otherwise.</summary>
    private string PathOf(string name)
    {
        if (name.Length is 0 or > MaxNameLength || name.Split('/').Any(part => !IsName(part)))
            throw new ArgumentException(
                "a blob of the journal has a name of letters, digits, '-', '_' and '.', in parts by '/' that don't begin or end with a "
                + "period", nameof(name));
        return Path.Combine(_root, name.Replace('/', Path.DirectorySeparatorChar));
    }

    private static bool IsName(string part) =>
        part.Length is > 0 and <= byte.MaxValue && part[0] != '.' && part[^1] != '.'
        && part.All(one => char.IsAsciiLetterOrDigit(one) || one is '-' or '_' or '.');

    private static Task<T> Call<T>(string operation, Func<T> call) => Call(operation, () => Task.FromResult(call()));

    private static async Task<T> Call<T>(string operation, Func<Task<T>> call)
    {
        try
        {
            return await call();
        }
        catch (Exception e) when (FileErrors.Is(e))
        {
            throw FileErrors.Map(e, operation);
        }
    }
}

internal static class FileErrors
{
    private const string Full = "the disk is full; free some space";

    public static bool Is(Exception error) => error is IOException or UnauthorizedAccessException;

    public static HibpException Map(Exception error, string operation) => error switch
    {
        _ when DiskFull.Is(error) => new StoreFullException($"{operation} failed: {Full}") { Cause = Full },
        UnauthorizedAccessException =>
            new StoreRefusedException($"{operation} failed: this user lacks the permission in the folder; grant it"),
        _ => new UnavailableException(operation, $"{error.GetType().Name} ({error.HResult})"),
    };
}
