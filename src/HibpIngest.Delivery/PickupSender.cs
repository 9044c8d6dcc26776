namespace HibpIngest.Delivery;

/// <summary>
/// Writes each mail to a folder as <c>{name}.eml</c>, for a mail server or a person to read. A file appears complete or not at
/// all, and a second copy of a mail replaces the first. Safe for concurrent use by several threads and processes.
/// </summary>
public sealed class PickupSender : INotificationSender
{
    private const int ReadOnlyFileSystem = 30; // errno

    private readonly string _folder;
    private readonly Func<string, Stream> _create;

    /// <param name="folder">Created with the first mail if missing; a relative path is resolved against the current directory.</param>
    public PickupSender(string folder)
        : this(folder, path => new FileStream(path, FileMode.CreateNew, FileAccess.Write, FileShare.None, bufferSize: 0))
    {
    }

    internal PickupSender(string folder, Func<string, Stream> create)
    {
        _folder = Path.GetFullPath(folder);
        _create = create;
    }

    public string DisplayName => $"pickup folder {_folder}";

    /// <summary>Checks by writing and deleting a file: in the folder or, if it doesn't exist yet, in its nearest existing parent.</summary>
    public Task CheckAsync(string from, CancellationToken cancellationToken)
    {
        var folder = _folder;
        while (!Path.Exists(folder) && Path.GetDirectoryName(folder) is { } above)
            folder = above;
        return WriteAsync(folder, $".check-{Guid.NewGuid():N}.tmp", ReadOnlyMemory<byte>.Empty, moveTo: null, cancellationToken);
    }

    /// <inheritdoc/>
    /// <exception cref="StoreFullException">The disk is full.</exception>
    public Task SendAsync(OutgoingMail mail, CancellationToken cancellationToken) =>
        WriteAsync(
            _folder, $".{mail.Name}-{Guid.NewGuid():N}.tmp", mail.Content, $"{mail.Name}.eml", cancellationToken);

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;

    private async Task WriteAsync(
        string folder, string name, ReadOnlyMemory<byte> content, string? moveTo, CancellationToken cancellationToken)
    {
        var path = Path.Combine(folder, name);
        try
        {
            Directory.CreateDirectory(folder);
            try
            {
                await using (var file = _create(path))
                    await file.WriteAsync(content, cancellationToken);
                if (moveTo is not null)
                    File.Move(path, Path.Combine(folder, moveTo), overwrite: true);
            }
            finally
            {
                // A no-op after the move.
                File.Delete(path);
            }
        }
        catch (UnauthorizedAccessException e)
        {
            throw new StoreRefusedException(
                $"the pickup folder {_folder} is not writable for this user; grant the permission, or name another one in HIBP_MAIL", e);
        }
        catch (IOException e) when (DiskFull.Is(e))
        {
            throw new StoreFullException($"the disk of the pickup folder {_folder} is full; make room on it", e);
        }
        catch (IOException e) when (e is DirectoryNotFoundException || e.HResult is ReadOnlyFileSystem || File.Exists(folder))
        {
            throw new StoreRefusedException($"{_folder} can't be a pickup folder (it is a file, lies below one, or on a disk that is "
                + "read-only); name another one in HIBP_MAIL", e);
        }
        catch (IOException e)
        {
            throw new UnavailableException(
                $"pickup folder {_folder}: write failed ({e.GetType().Name}, 0x{e.HResult:X8}); check the disk, or name another folder in "
                + "HIBP_MAIL", e);
        }
    }
}
