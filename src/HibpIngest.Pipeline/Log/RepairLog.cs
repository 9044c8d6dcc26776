using HibpIngest.AccountLog;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Has a load logged again from its rows, where blobs of it are damaged or were lost. What is whole is kept.</summary>
public sealed class RepairLog(ILoadLog log, IOpenLoads open, IAccountLogBlobs blobs)
{
    /// <summary>Deletes what is damaged, and has the load wait for the log; broken off behind that, Sweep goes on.</summary>
    /// <returns>How many segments are to be written again.</returns>
    /// <exception cref="NotPossibleException">No such load, or its rows are purged.</exception>
    public async Task<int> RunAsync(long load, CancellationToken cancellationToken)
    {
        var entry = await log.GetLogEntryAsync(load, cancellationToken)
            ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
        if (entry.Purged || entry.Stopped)
        {
            throw new NotPossibleException($"the rows of load {load} of {entry.Breach.Name} are purged, or are being removed: what the "
                + "account log lacks of it can't be made again; put its blobs back from a copy");
        }
        var gone = 0;
        foreach (var segment in entry.Segments)
        {
            var name = LogNames.Segment(LogNames.Folder(entry), segment.First);
            if (await IsWholeAsync(name, cancellationToken))
                continue;
            await blobs.DeleteAsync(name, cancellationToken);
            gone++;
        }
        await open.MarkOpenAsync(load, cancellationToken);
        await log.ForgetLogAsync(load, cancellationToken);
        return gone;
    }

    private async Task<bool> IsWholeAsync(string name, CancellationToken cancellationToken)
    {
        try
        {
            await using var reader = await SegmentReader.OpenAsync(blobs, name, cancellationToken);
            await reader.VerifyAsync(cancellationToken);
            return true;
        }
        catch (Exception e) when (e is DamagedSegmentException or StoreMissingException)
        {
            return false;
        }
    }
}
