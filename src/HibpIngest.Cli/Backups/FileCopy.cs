using System.Buffers;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Cli.Backups;

/// <summary>Operations on files that contain addresses and are verified by checksum.</summary>
internal static class FileCopy
{
    private const int BufferBytes = 1 << 20;

    /// <summary>Creates a file that only this user can read.</summary>
    public static FileStream Create(string path)
    {
        var options = new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.Write, Share = FileShare.ReadWrite };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        return new FileStream(path, options);
    }

    /// <summary>Marks a copy in progress as in use, so that <see cref="RemoveLeft"/> in another process skips it.</summary>
    public static FileStream Hold(string path) => new(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);

    /// <summary>Deletes <c>NAME.GUID.SUFFIX</c> files that killed processes have left, unless in use (<see cref="Hold"/>).</summary>
    /// <param name="name">The database's file name; may contain wildcards.</param>
    public static void RemoveLeft(string folder, string name, string suffix, Func<string, string>? note = null)
    {
        if (!Directory.Exists(folder))
            return;
        foreach (var path in Directory.EnumerateFiles(folder, $"{name}.*{suffix}").Where(path => IsCopy(path, suffix)))
        {
            try
            {
                // Exclusive access fails while another process holds the copy.
                using (new FileStream(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None))
                {
                }
                Delete(path);
                if (note is not null)
                    File.Delete(note(path));
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                // In use, or owned by another user.
            }
        }

        static bool IsCopy(string path, string suffix) =>
            Guid.TryParseExact(Path.GetExtension(path.AsSpan()[..^suffix.Length]).TrimStart('.'), "N", out _);
    }

    /// <summary>Returns the SHA-256 of a file in hex, and copies the file at the same time if there is a target.</summary>
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
            // The buffer held addresses.
            ArrayPool<byte>.Shared.Return(buffer, clearArray: true);
        }
    }

    public static void Delete(string database)
    {
        foreach (var path in SqliteBreachDatabase.Companions.Prepend("").Select(suffix => database + suffix))
            File.Delete(path);
    }
}
