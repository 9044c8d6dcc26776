namespace HibpIngest.Storage.Sql.Sqlite;

/// <summary>
/// The database file as this process first opened it. A file that is deleted or replaced stays usable for processes that have it open, and
/// what they write is lost without an error. Therefore each transaction first checks that the open file is still the one at the path.
/// Thread-safe.
/// </summary>
internal sealed class DatabaseFile(string path) : IDisposable
{
    private readonly Lock _lock = new();

    // Opened first, closed last, and used for this check only: other connections come and go, and one that is opened after a replacement
    // would notice nothing.
    private volatile SqliteSession? _first;

    public bool IsOpen => _first is not null;

    public void Create()
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
                    $"the folder of database '{path}' can't be created: {e.GetType().Name}; name a file in a folder this user can write",
                    e);
            }
            _first = new SqliteSession(path, TimeProvider.System, create: true);
        }
    }

    /// <summary>Opens the file if it isn't open yet, else checks that it is still the same one.</summary>
    public void Check()
    {
        lock (_lock)
        {
            _first ??= new SqliteSession(path, TimeProvider.System);
            if (_first.HasMoved)
            {
                throw new StoreMismatchException(
                    $"database '{path}' was deleted, moved or replaced while this process was using it: nothing more is written, "
                    + "because it would be lost; put the file back, or make sure that the new one is intended, and start again");
            }
        }
    }

    public void Dispose() => _first?.Dispose();
}
