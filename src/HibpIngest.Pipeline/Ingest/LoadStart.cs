namespace HibpIngest.Pipeline.Ingest;

/// <summary>Creates the load of a blob version, once. Idempotency key: the blob version. Its receipt is written after its load.</summary>
public sealed class LoadStart(
    ILoads loads, IStoreRegister register, IBreachBlobs blobs, PipelineMessages messages, IOptions<IngestOptions> options,
    TimeProvider time, ILogger<IngestBreach> log)
{
    // An ingest message may wait for hours, because a process runs one ingest at a time, and every further message would be for nothing.
    private static readonly TimeSpan InTransit = TimeSpan.FromMinutes(10);

    public Task<bool> WasStartedAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        register.HasReceiptAsync(blob, cancellationToken);

    /// <summary>
    /// Sends a new version to the ingest queue, unless a message is in transit already: for 10 minutes, so that one that was lost, or
    /// dead-lettered and purged, is sent again. A duplicate is harmless (IngestBreach's key).
    /// </summary>
    public async Task<bool> TryAnnounceAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        if (!await register.TryMarkSentAsync(blob, time.GetUtcNow(), InTransit, cancellationToken))
            return false;
        await messages.SendAsync(new IngestMessage { Blob = blob.Name, ETag = blob.ETag }, TimeSpan.Zero, cancellationToken);
        return true;
    }

    /// <summary>Returns the id of a version's load, if it is ingesting; without open loads the database isn't queried.</summary>
    public async Task<LoadId?> FindIngestingAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        (await register.ListOpenAsync(cancellationToken)).Count > 0
        && await loads.FindLoadAsync(blob, cancellationToken) is { State: LoadState.Ingesting } load ? load.Id : null;

    /// <summary>Marks a load as open whose ingest continues.</summary>
    public Task ReopenAsync(LoadId load, CancellationToken cancellationToken) => register.MarkOpenAsync(load, cancellationToken);

    /// <summary>Records a version with a refused name as a failed load, in place: such a name must not be put into a message.</summary>
    public Task RefuseAsync(BlobVersion blob, CancellationToken cancellationToken) => RunAsync(blob, heldBecause: null, cancellationToken);

    /// <summary>Returns the load of a blob version; records it if there is none.</summary>
    /// <param name="heldBecause">Why its mails are held regardless of its metadata; null if they aren't.</param>
    public async Task<LoadHead> RunAsync(BlobVersion blob, string? heldBecause, CancellationToken cancellationToken)
    {
        if (await loads.FindLoadAsync(blob, cancellationToken) is { } found)
        {
            await RegisterAsync(found, cancellationToken);
            return found;
        }
        var (breach, failure) = ("", (string?)null);
        var named = new MetadataFile(null, null);
        try
        {
            breach = BreachName.FromBlob(blob.Name);
            named = await MetadataFile.ReadAsync(blobs, blob.Name, breach, cancellationToken);
        }
        catch (BadInputException e)
        {
            failure = e.Message;
            breach = breach.Length > 0 ? breach : "unnamed";
        }
        var id = await register.DrawLoadAsync(cancellationToken);
        var order = new NewLoad(id, breach, blob, NewSettings(options.Value))
        {
            Metadata = named.Document,
            Failure = failure,
            HeldBecause = JoinReasons(heldBecause, named.HeldBecause(id)),
        };
        var load = await loads.StartLoadAsync(order, cancellationToken);
        await RegisterAsync(load, cancellationToken);
        if (load.State == LoadState.Failed && failure is not null)
            IngestLog.Failed(log, load.Id.Value, load.Breach, failure);
        // Names of unknown properties are not logged: they may be anything, even an address.
        if (named.Document is { } document && BreachMetadata.FindUnknown(document) is { Count: > 0 } unknown)
        {
            var nearest = string.Join(", ", unknown.Select(one => one.Nearest).OfType<string>().Distinct());
            IngestLog.UnknownMetadata(log, load.Id.Value, load.Breach, unknown.Count, nearest.Length > 0 ? nearest : "none");
        }
        return load;
    }

    internal static LoadSettings NewSettings(IngestOptions options) => new()
    {
        ExtractorVersion = AccountScanner.Version,
        TopLevelDomains = TopLevelDomains.Hash,
        Limits = options.Limits,
        DedupeCap = options.DedupeCap > 0 ? options.DedupeCap : DedupeSet.DefaultCap(),
        BatchRows = options.BatchRows,
        SliceRows = options.SliceRows,
    };

    // Order matters: the first reason decides when an operator's action settles only some of them.
    private static string? JoinReasons(string? first, string? second) =>
        first is null || second is null ? first ?? second : $"{first}; {second}";

    // Registers a recorded load. Runs after its row exists: a mark without a row would be cleared by a sweep, a receipt without one would
    // hide the file for good, and a confirmed id must exist. The next delivery of the message registers a row that was left without these.
    private async Task RegisterAsync(LoadHead load, CancellationToken cancellationToken)
    {
        await register.ConfirmAsync(new StoreIds(load.Id.Value, load.Mark), cancellationToken);
        await register.MarkOpenAsync(load.Id, cancellationToken);
        await register.AddReceiptAsync(load.Blob, cancellationToken);
    }
}
