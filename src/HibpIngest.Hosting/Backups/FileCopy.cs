using System.Buffers;
using System.Security.Cryptography;

namespace HibpIngest.Hosting.Backups;

/// <summary>Files that hold addresses, and that are known by their checksum.</summary>
internal static class FileCopy
{
    private const int BufferBytes = 1 << 20;

    /// <summary>A new file that only this user can read.</summary>
    public static FileStream Create(string path)
    {
        var options = new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.Write, Share = FileShare.ReadWrite };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        return new FileStream(path, options);
    }

    /// <summary>Marks a copy that is being made as in use, so that <see cref="RemoveLeft"/> of another process leaves it alone.</summary>
    public static FileStream Hold(string path) => new(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);

    /// <summary>
    /// Removes the copies of a database that killed processes have left, with what lies beside them: <c>NAME.GUID.SUFFIX</c>. One that
    /// is in use (<see cref="Hold"/>) stays.
    /// </summary>
    /// <param name="name">The database's file name; may hold wildcards.</param>
    /// <param name="note">Path of the note of a copy; null: it has none.</param>
    public static void RemoveLeft(string folder, string name, string suffix, Func<string, string>? note = null)
    {
        if (!Directory.Exists(folder))
            return;
        foreach (var path in Directory.EnumerateFiles(folder, $"{name}.*{suffix}").Where(path => IsCopy(path, suffix)))
        {
            try
            {
                // Asks for it alone, which a process that holds it does not allow.
                using (new FileStream(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None))
                {
                }
                Delete(path);
                if (note is not null)
                    File.Delete(note(path));
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                // In use, or another user's.
            }
        }

        static bool IsCopy(string path, string suffix) =>
            Guid.TryParseExact(Path.GetExtension(path.AsSpan()[..^suffix.Length]).TrimStart('.'), "N", out _);
    }

    /// <summary>The SHA-256 of a file in hex, which is copied meanwhile where that is asked for.</summary>
    /// <param name="to">Where to; null: nowhere.</param>
    /// <param name="progress">Told of the bytes read.</param>
    public static async Task<string> HashAsync(string from, Stream? to, IProgress<long> progress, CancellationToken cancellationToken)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        var buffer = ArrayPool<byte>.Shared.Rent(BufferBytes);
        try
        {
            await using var file = new FileStream(from, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 0, useAsync: true);
            var done = 0L;
            int read;
            while ((read = await file.ReadAsync(buffer, cancellationToken)) > 0)
            {
                hash.AppendData(buffer.AsSpan(0, read));
                if (to is not null)
                    await to.WriteAsync(buffer.AsMemory(0, read), cancellationToken);
                progress.Report(done += read);
            }
            return Convert.ToHexStringLower(hash.GetHashAndReset());
        }
        finally
        {
            // It held addresses.
            ArrayPool<byte>.Shared.Return(buffer, clearArray: true);
        }
    }

    /// <summary>A database's file, with what SQLite may have left beside it.</summary>
    public static void Delete(string database)
    {
        foreach (var path in Sql.Sqlite.SqliteBreachDatabase.Companions.Prepend("").Select(suffix => database + suffix))
            File.Delete(path);
    }
}
