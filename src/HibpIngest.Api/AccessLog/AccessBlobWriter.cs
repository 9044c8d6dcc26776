namespace HibpIngest.Api.AccessLog;

/// <summary>
/// Appends frames to this process's blobs, each frame once: after a lost response it looks for the frame before it retries. Not
/// thread-safe.
/// </summary>
internal sealed class AccessBlobWriter(IAccessBlobs blobs, Guid instance, IReadOnlyList<string> routes, TimeProvider time)
{
    /// <summary>The service's limit is 50,000 (learn.microsoft.com/azure/storage/blobs/scalability-targets).</summary>
    internal const int MaxBlocks = 49_000;

    /// <summary>A blob is read whole to be counted.</summary>
    internal const long MaxBytes = 100_000_000;

    private readonly byte[] _routes = AccessFrame.Routes(routes, instance);
    private string? _name;
    private DateTimeOffset _hour;
    private long _position;
    private int _blocks;
    private int _number;
    private bool _isInDoubt;
    private Task _ending = Task.CompletedTask;

    /// <exception cref="HibpException">The outcome is unknown: the same frame must be passed again before another one.</exception>
    public async Task AppendAsync(ReadOnlyMemory<byte> frame, CancellationToken cancellationToken)
    {
        // A frame that may already be in a blob must be retried there.
        if (_name is not null && !_isInDoubt && IsToBeRolled())
            Leave(cancellationToken);
        while (true)
        {
            if (_name is null)
                await BeginAsync(cancellationToken);
            _isInDoubt = true;
            var appended = await blobs.AppendAsync(_name!, _position, frame, cancellationToken);
            if (appended == BlockAppend.Appended
                || (appended == BlockAppend.OtherPosition && await IsThereAsync(frame, cancellationToken)))
            {
                _position += frame.Length;
                _blocks++;
                _isInDoubt = false;
                return;
            }
            // Another process ended or removed the blob because this one seemed to be dead: the frame isn't in it, and never will be.
            (_name, _isInDoubt) = (null, false);
        }
    }

    /// <summary>Ends the current blob and waits for those ended before. Sweep does later what fails.</summary>
    public async Task EndAsync(CancellationToken cancellationToken)
    {
        if (_name is not null)
            Leave(cancellationToken);
        await _ending;
    }

    /// <summary>Ends the current blob in the background, so that appends to the next one don't wait.</summary>
    private void Leave(CancellationToken cancellationToken)
    {
        _ending = EndAsync(_ending, _name!, _position, cancellationToken);
        _name = null;
    }

    private async Task EndAsync(Task before, string name, long position, CancellationToken cancellationToken)
    {
        await before;
        try
        {
            if (await blobs.AppendAsync(name, position, AccessFrame.End(instance), cancellationToken) == BlockAppend.Appended
                && await blobs.FindAsync(name, cancellationToken) is { } blob)
                await blobs.MarkAsync(blob, AccessBlobState.Sealed, null, cancellationToken);
        }
        catch (Exception)
        {
            // Sweep finds a blob without an end by its age, after any error.
        }
    }

    private bool IsToBeRolled() => _blocks >= MaxBlocks || _position >= MaxBytes || HourOf(time.GetUtcNow()) != _hour;

    private async Task BeginAsync(CancellationToken cancellationToken)
    {
        var hour = HourOf(time.GetUtcNow());
        // A name is never reused: an earlier attempt may have succeeded.
        var name = AccessBlobName.Of(hour, instance, ++_number);
        try
        {
            await BeginAsync(name, cancellationToken);
        }
        catch (StoreMissingException)
        {
            await blobs.CreateAsync(cancellationToken);
            await BeginAsync(name, cancellationToken);
        }
        if (await blobs.AppendAsync(name, 0, _routes, cancellationToken) != BlockAppend.Appended)
        {
            throw new UnavailableException(
                $"access log blob '{name}' is new but not empty: another process appended to it; the next attempt uses another blob");
        }
        (_name, _hour, _position, _blocks) = (name, hour, _routes.Length, 1);
    }

    private async Task BeginAsync(string name, CancellationToken cancellationToken)
    {
        if (!await blobs.BeginAsync(name, cancellationToken))
            throw new UnavailableException($"blob '{name}' already exists");
    }

    /// <summary>Returns whether the frame is at the position of the append: its process and first record's number identify it.</summary>
    private async Task<bool> IsThereAsync(ReadOnlyMemory<byte> frame, CancellationToken cancellationToken)
    {
        await using var stream = await blobs.OpenAsync(_name!, _position, cancellationToken);
        if (stream is null)
            return false;
        var header = new byte[AccessFrame.HeaderBytes];
        var read = await stream.ReadAtLeastAsync(header, header.Length, throwOnEndOfStream: false, cancellationToken);
        return AccessFrame.ReadHeader(header.AsSpan(0, read)) is { } found && found == AccessFrame.ReadHeader(frame.Span);
    }

    private static DateTimeOffset HourOf(DateTimeOffset now) => new(now.Year, now.Month, now.Day, now.Hour, 0, 0, TimeSpan.Zero);
}

/// <summary>Names of the access log's blobs: <c>{yyyyMMddHH}/{instance}-{number}.log</c>.</summary>
public static class AccessBlobName
{
    private const string HourFormat = "yyyyMMddHH";

    /// <param name="hour">The hour in which the blob was begun, UTC.</param>
    /// <param name="number">The blob's number in its process, from 1.</param>
    public static string Of(DateTimeOffset hour, Guid instance, int number) => string.Create(
        CultureInfo.InvariantCulture, $"{hour.UtcDateTime:yyyyMMddHH}/{instance:N}-{number:00000}.log");

    /// <returns>The hour in which a blob was begun; null if the name has another form.</returns>
    public static DateTimeOffset? HourOf(string name) =>
        name.Length > HourFormat.Length && name[HourFormat.Length] == '/' && DateTimeOffset.TryParseExact(
            name.AsSpan(0, HourFormat.Length), HourFormat, CultureInfo.InvariantCulture,
            DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal, out var hour) ? hour : null;
}
