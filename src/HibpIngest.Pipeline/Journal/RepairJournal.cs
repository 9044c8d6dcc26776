namespace HibpIngest.Pipeline.Journal;

/// <summary>Prepares a load with damaged or lost blobs in the journal to be written again from its rows; intact segments stay.</summary>
public sealed class RepairJournal(ILoadRows log, IWorkRegister register, IJournalBlobs blobs)
{
    /// <summary>Deletes damaged segments and marks the load as not journaled. If interrupted after that, Sweep continues.</summary>
    /// <exception cref="NotPossibleException">There is no such load, its rows are purged, or it is being removed.</exception>
    public async Task<int> RunAsync(LoadId load, CancellationToken cancellationToken)
    {
        var entry = await log.GetJournalEntryAsync(load, cancellationToken)
            ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
        if (entry.Purged || entry.Stopped)
        {
            throw new NotPossibleException($"the rows of load {load} of {entry.Breach.Name} are purged, or are being removed: the "
                + "missing part of the journal can't be written again; put its blobs back from a copy");
        }
        var deleted = 0;
        foreach (var segment in entry.Segments)
        {
            var name = JournalNames.Segment(JournalNames.Folder(entry), segment.First);
            if (await IsWholeAsync(name, cancellationToken))
                continue;
            await blobs.DeleteAsync(name, cancellationToken);
            deleted++;
        }
        await register.MarkOpenAsync(load, cancellationToken);
        await log.ForgetJournalAsync(load, cancellationToken);
        return deleted;
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
