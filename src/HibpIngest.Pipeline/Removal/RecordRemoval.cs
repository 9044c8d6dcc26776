namespace HibpIngest.Pipeline.Removal;

/// <summary>Records a removal in journal and register, which outlive a database: no restore brings the loads or files back.</summary>
public sealed class RecordRemoval(
    IBreachDatabase database, IWorkRegister register, IJournalBlobs blobs, IOptions<JournalOptions> journal)
{
    public async Task<RecordedRemoval> RunAsync(string breach, CancellationToken cancellationToken)
    {
        var all = await database.ListLoadsAsync(breach, cancellationToken);
        var folders = new Dictionary<LoadId, string?>();
        var recorded = new RecordedRemoval(all.Count > 0 ? all[0].Breach : breach, folders);
        // A removal that began earlier continues with its own loads only.
        var removing = all.Where(load => load.Removing).ToList();
        var chosen = removing.Count > 0 ? removing : all;
        if (removing.Count == 0 && chosen.Any(load => load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held)))
            return recorded;
        IReadOnlyList<RemovedLoad> together = [.. chosen.Select(load => new RemovedLoad(load.Id.Value, load.Blob.Name, load.Blob.ETag))];
        foreach (var load in chosen)
            folders.Add(load.Id, await RemoveFromJournalAsync(load.Id, together, cancellationToken));
        foreach (var load in chosen)
        {
            // A version that was restarted as another load, and assigned to another breach, isn't removed.
            if (await database.FindLoadAsync(load.Blob, cancellationToken) is not { } newest || folders.ContainsKey(newest.Id))
                await register.AddRemovedAsync(load.Blob, cancellationToken);
        }
        return recorded;
    }

    /// <summary>Deletes a removed load's segments and documents, except the document of its removal.</summary>
    public Task DeleteJournalAsync(string folder, CancellationToken cancellationToken) =>
        WriteJournal.DeleteAsync(blobs, folder, cancellationToken);

    /// <returns>The load's folder in the journal. Null if the load never got a mark, so that nothing of it was written.</returns>
    private async Task<string?> RemoveFromJournalAsync(
        LoadId load, IReadOnlyList<RemovedLoad> together, CancellationToken cancellationToken)
    {
        if (await database.GetJournalEntryAsync(load, cancellationToken) is not { } entry || (entry.Segments.Count == 0 && entry.Mark == 0))
            return null;
        var folder = JournalNames.Folder(entry);
        // While the journal is on, a load that was not journaled yet would come back with a database from before its removal.
        if (entry.Segments.Count > 0 || journal.Value.Mode == JournalMode.On)
        {
            var removal = RemovedDocument.Of(entry, (await database.GetIdentityAsync(cancellationToken))!.Id, together);
            await blobs.CreateAsync(cancellationToken); // the container may be missing: another storage account may be configured by now
            // An existing document is an earlier run's.
            await blobs.WriteAsync(folder + JournalNames.Removed, removal.ToJson(), cancellationToken);
        }
        return folder;
    }
}

/// <param name="Breach">Its name as the database spells it.</param>
/// <param name="Folders">
/// The loads with their folders in the journal, null for a load without one. Empty if the removal will be refused.
/// </param>
public sealed record RecordedRemoval(string Breach, IReadOnlyDictionary<LoadId, string?> Folders);
