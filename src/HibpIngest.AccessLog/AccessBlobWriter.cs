using System.Globalization;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AccessLog;

/// <summary>
/// Appends frames to blobs of one process, each frame once: a frame whose answer was lost is looked for before it is appended again.
/// For one caller at a time.
/// </summary>
internal sealed class AccessBlobWriter(IAccessBlobs blobs, Guid instance, IReadOnlyList<string> routes, TimeProvider time)
{
    /// <summary>The service takes 50,000 (learn.microsoft.com/azure/storage/blobs/scalability-targets).</summary>
    internal const int MostBlocks = 49_000;

    /// <summary>What is read whole to be counted.</summary>
    internal const long MostBytes = 100_000_000;

    private readonly byte[] _routes = AccessFrame.Routes(routes, instance);
    private string? _name;
    private DateTimeOffset _hour;
    private long _position;
    private int _blocks;
    private int _number;
    private bool _isInDoubt;
    private Task _ending = Task.CompletedTask;

    /// <summary>Returns when the frame is durable.</summary>
    /// <exception cref="HibpException">It is not known to be: the same frame is to be given again before another.</exception>
    public async Task AppendAsync(ReadOnlyMemory<byte> frame, CancellationToken cancellationToken)
    {
        // A frame that may be there already belongs to the blob that it was begun for.
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
            // Somebody took this process for dead and has ended the blob, or removed it: the frame is not in it, and never will be.
            (_name, _isInDoubt) = (null, false);
        }
    }

    /// <summary>Ends the blob that is being written, and waits for those that were left: whatever fails, Sweep does it later.</summary>
    public async Task EndAsync(CancellationToken cancellationToken)
    {
        if (_name is not null)
            Leave(cancellationToken);
        await _ending;
    }

    /// <summary>Has the blob ended that is being written, beside what is appended to the next: nobody waits for that.</summary>
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
            // Whatever it is: it is found without its end, by its age.
        }
    }

    private bool IsToBeRolled() => _blocks >= MostBlocks || _position >= MostBytes || HourOf(time.GetUtcNow()) != _hour;

    private async Task BeginAsync(CancellationToken cancellationToken)
    {
        var hour = HourOf(time.GetUtcNow());
        // A name is never used twice, whatever became of an earlier try.
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
            throw new StoreUnavailableException($"blob '{name}' was written by somebody else");
        (_name, _hour, _position, _blocks) = (name, hour, _routes.Length, 1);
    }

    private async Task BeginAsync(string name, CancellationToken cancellationToken)
    {
        if (!await blobs.BeginAsync(name, cancellationToken))
            throw new StoreUnavailableException($"blob '{name}' is there already");
    }

    /// <summary>
    /// Whether the frame stands where it was to be appended: its process and its first record's number tell it from any other.
    /// </summary>
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

    /// <param name="hour">In which it was begun, UTC.</param>
    /// <param name="number">Its number there, from 1.</param>
    public static string Of(DateTimeOffset hour, Guid instance, int number) => string.Create(
        CultureInfo.InvariantCulture, $"{hour.UtcDateTime:yyyyMMddHH}/{instance:N}-{number:00000}.log");

    /// <summary>The hour in which a blob was begun; null where the name is none of ours.</summary>
    public static DateTimeOffset? HourOf(string name) =>
        name.Length > HourFormat.Length && name[HourFormat.Length] == '/' && DateTimeOffset.TryParseExact(
            name.AsSpan(0, HourFormat.Length), HourFormat, CultureInfo.InvariantCulture,
            DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal, out var hour) ? hour : null;
}
