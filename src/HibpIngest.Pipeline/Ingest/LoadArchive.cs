namespace HibpIngest.Pipeline.Ingest;

/// <summary>Opens a load's archive where its copy continues.</summary>
public sealed class LoadArchive(ILoadRows rows, IBreachBlobs blobs, ArchivePasswords passwords)
{
    /// <summary>
    /// Reads the metadata of a resumed load for its errors, which are better reported now than hours later. The document is applied when
    /// the load is published.
    /// </summary>
    public Task CheckMetadataAsync(Load load, CancellationToken cancellationToken) =>
        MetadataFile.ReadAsync(blobs, load.Blob.Name, load.Breach, cancellationToken);

    internal async Task<AccountExtractor> ExtractAsync(Load load, CancellationToken cancellationToken)
    {
        var password = await passwords.GetAsync(load.Blob, cancellationToken);
        var known = await RememberAsync(load, cancellationToken);
        var extraction = new AccountExtractor(await blobs.OpenAsync(load.Blob, cancellationToken), password, load, known);
        extraction.Start();
        return extraction;
    }

    public Task ForgetPasswordAsync(Load load) => passwords.DeleteAsync(load.Blob, CancellationToken.None);

    // Rebuilds the dedupe set as of the checkpoint's entry. It holds the first rows, up to the cap; these are distinct.
    private async Task<DedupeSet> RememberAsync(Load load, CancellationToken cancellationToken)
    {
        var known = new DedupeSet(load.Settings.DedupeCap);
        var batch = new AccountBatch(load.Settings.BatchRows);
        var isNew = new bool[batch.Capacity];
        var last = Math.Min(load.Checkpoint.EntryFirstPosition - 1, load.Settings.DedupeCap);
        for (var first = 1L; first <= last; first += batch.Capacity)
        {
            await rows.ReadRowsAsync(load.Id, first, Math.Min(first + batch.Capacity - 1, last), batch, cancellationToken);
            known.Add(batch, isNew);
        }
        return known;
    }
}
