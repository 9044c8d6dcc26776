using HibpIngest.Pipeline.Journal;

namespace HibpIngest.Pipeline.Removal;

/// <summary>Records a removal in journal and register, which outlive a database: no restore brings the loads or files back.</summary>
public sealed class RecordRemoval(
    IBreachDatabase database, IStoreMarks register, IJournalBlobs blobs, IOptions<JournalOptions> journal)
{
    /// <returns>Ids of the loads; empty if the removal will be refused.</returns>
    public async Task<IReadOnlySet<long>> RunAsync(string breach, CancellationToken cancellationToken)
    {
        var all = await database.ListLoadsAsync(breach, cancellationToken);
        // A removal that began earlier continues with its own loads only.
        var removing = all.Where(load => load.Removing).ToList();
        var chosen = removing.Count > 0 ? removing : all;
        if (removing.Count == 0 && chosen.Any(load => load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held)))
            return new HashSet<long>();
        IReadOnlyList<RemovedLoad> together = [.. chosen.Select(load => new RemovedLoad(load.Id, load.Blob.Name, load.Blob.ETag))];
        foreach (var load in chosen)
            await RemoveFromJournalAsync(load.Id, together, cancellationToken);
        var ids = chosen.Select(load => load.Id).ToHashSet();
        foreach (var load in chosen)
        {
            // A version that was restarted as another load, and assigned to another breach, isn't removed.
            if (await database.FindLoadAsync(load.Blob, cancellationToken) is not { } newest || ids.Contains(newest.Id))
                await register.AddRemovedAsync(load.Blob, cancellationToken);
        }
        return ids;
    }

    /// <summary>Deletes a removed load's segments and documents, except the document of its removal.</summary>
    public async Task DeleteJournalAsync(long load, CancellationToken cancellationToken)
    {
        if (await FindJournaledAsync(load, cancellationToken) is { } entry)
            await WriteJournal.DeleteAsync(blobs, JournalNames.Folder(entry), cancellationToken);
    }

    private async Task RemoveFromJournalAsync(long load, IReadOnlyList<RemovedLoad> together, CancellationToken cancellationToken)
    {
        if (await FindJournaledAsync(load, cancellationToken) is not { } entry)
            return;
        var removal = RemovedDocument.Of(entry, (await database.GetIdentityAsync(cancellationToken))!.Id, together);
        await blobs.CreateAsync(cancellationToken); // the container may be missing: another storage account may be configured by now
        // An existing document is an earlier run's.
        await blobs.WriteAsync(JournalNames.Folder(entry) + JournalNames.Removed, removal.ToJson(), cancellationToken);
    }

    // Returns a load's entry if the journal may have blobs of it. While the journal is on, that includes every load: one that was not
    // journaled yet would come back with a database from before its removal.
    private async Task<JournalEntry?> FindJournaledAsync(long load, CancellationToken cancellationToken) =>
        await database.GetJournalEntryAsync(load, cancellationToken) is { } entry
        && (entry.Segments.Count > 0 || (journal.Value.Mode == JournalMode.On && entry.Mark > 0)) ? entry : null;
}
