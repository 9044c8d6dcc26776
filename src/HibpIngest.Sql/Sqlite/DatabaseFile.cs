using HibpIngest.Errors;

namespace HibpIngest.Sql.Sqlite;

/// <summary>
/// The database's file as this process first opened it. A file that is deleted or replaced goes on for whoever
/// has it open, so what is written then is lost without an error: before each transaction the open file is
/// compared with the one that has its name by now. Thread-safe.
/// </summary>
internal sealed class DatabaseFile(string path) : IDisposable
{
    private readonly Lock _lock = new();

    /// <summary>
    /// Opened first, closed last, and used for nothing else: connections come and go, and one that is opened
    /// after a replacement would find nothing wrong.
    /// </summary>
    private volatile SqliteSession? _first;

    public bool IsOpen => _first is not null;

    /// <summary>Makes the file, and its folder, where they are missing.</summary>
    /// <exception cref="StoreRefusedException">They can't be made.</exception>
    public void Make()
    {
        lock (_lock)
        {
            if (_first is not null)
                return;
            try
            {
                if (Path.GetDirectoryName(Path.GetFullPath(path)) is { } folder)
                    Directory.CreateDirectory(folder);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException)
            {
                throw new StoreRefusedException(
                    $"the folder of database '{path}' can't be made: {e.GetType().Name}; name a file in a folder that this user can write",
                    e);
            }
            _first = new SqliteSession(path, TimeProvider.System, create: true);
        }
    }

    /// <summary>Opens it where it isn't open yet, else makes sure that it is still the one.</summary>
    /// <exception cref="StoreMismatchException">It is another by now, or gone.</exception>
    /// <exception cref="StoreMissingException">There is none.</exception>
    public void Check()
    {
        lock (_lock)
        {
            _first ??= new SqliteSession(path, TimeProvider.System);
            if (_first.HasMoved)
            {
                throw new StoreMismatchException(
                    $"database '{path}' was deleted, moved or replaced while this process works with it: nothing more is written, "
                    + "as it would be lost; put the file back, or see that the new one is meant, and start again");
            }
        }
    }

    public void Dispose() => _first?.Dispose();
}
