using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Makes a load of a blob version, once, which is what receipts are for: one is written by what records the load, and by
/// nothing else.
/// </summary>
public sealed class LoadStart(
    ILoads loads, IStoreRegister register, IBreachBlobs blobs, PipelineMessages messages, IOptions<IngestOptions> options,
    TimeProvider time, ILogger<IngestBreach> log)
{
    /// <summary>
    /// One ingest a process: a message may wait behind another load's for hours, and every further one of it is
    /// a delivery for nothing.
    /// </summary>
    private static readonly TimeSpan OnItsWay = TimeSpan.FromMinutes(10);

    /// <summary>Whether a version has been made a load of.</summary>
    public Task<bool> WasTakenOnAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        register.HasReceiptAsync(blob, cancellationToken);

    /// <summary>
    /// Sends a version that is new to the ingest queue. Until its load is recorded the message counts as on its way for
    /// a short while only, so that one that is lost, or poisoned and purged, is sent again; twice is what the
    /// ingest's key takes. Returns false where it is on its way already.
    /// </summary>
    public async Task<bool> TryAnnounceAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        if (!await register.TryMarkSentAsync(blob, time.GetUtcNow(), OnItsWay, cancellationToken))
            return false;
        await messages.SendAsync(new IngestMessage { Blob = blob.Name, ETag = blob.ETag }, TimeSpan.Zero, cancellationToken);
        return true;
    }

    /// <summary>
    /// The load of a version that was taken on, where it is yet to be ingested. Where no load is open the
    /// database is not asked.
    /// </summary>
    public async Task<LoadHead?> FindIngestingAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        (await register.ListOpenAsync(cancellationToken)).Count > 0
        && await loads.FindLoadAsync(blob, cancellationToken) is { State: LoadState.Ingesting } load ? load : null;

    /// <summary>
    /// Records a blob version whose name is refused (<see cref="BreachName.IsRefused"/>) as a failed load: here and now, for
    /// the name must not travel in a message.
    /// </summary>
    public Task RefuseAsync(BlobVersion blob, CancellationToken cancellationToken) => RunAsync(blob, heldBecause: null, cancellationToken);

    /// <summary>The load of a blob version; recorded where there is none.</summary>
    /// <param name="heldBecause">Why its mails are to wait whatever its metadata says; null: no reason.</param>
    /// <param name="cancellationToken">Of the calls on the stores.</param>
    public async Task<LoadHead> RunAsync(BlobVersion blob, string? heldBecause, CancellationToken cancellationToken)
    {
        if (await loads.FindLoadAsync(blob, cancellationToken) is { } found)
        {
            await TakenOnAsync(found, cancellationToken);
            return found;
        }
        var (breach, failure) = ("", (string?)null);
        var named = new BreachDocument(null, null);
        try
        {
            breach = BreachName.FromBlob(blob.Name);
            named = await BreachDocument.ReadAsync(blobs, blob.Name, breach, cancellationToken);
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
            HeldBecause = Both(heldBecause, named.HeldBecause(id)),
        };
        var load = await loads.StartLoadAsync(order, cancellationToken);
        var head = await loads.GetLoadHeadAsync(load.Id, cancellationToken) ?? throw new LoadLostException(load.Id);
        await TakenOnAsync(head, cancellationToken);
        if (load.State == LoadState.Failed && failure is not null)
            IngestLog.Failed(log, load.Id, load.Breach, failure);
        // Not as they are written: a property's name may be anything, an address among it.
        if (named.Document is { } document && BreachMetadata.FindUnknown(document) is { Count: > 0 } unknown)
        {
            var nearest = string.Join(", ", unknown.Select(one => one.Nearest).OfType<string>().Distinct());
            IngestLog.UnknownMetadata(log, load.Id, load.Breach, unknown.Count, nearest.Length > 0 ? nearest : "none");
        }
        return head;
    }

    /// <summary>What a new load records.</summary>
    internal static LoadSettings NewSettings(IngestOptions options) => new()
    {
        ExtractorVersion = AccountScanner.Version,
        TopLevelDomains = TopLevelDomains.Hash,
        Limits = options.Limits,
        DedupeCap = options.DedupeCap > 0 ? options.DedupeCap : DedupeSet.DefaultCap(),
        BatchRows = options.BatchRows,
        SliceRows = options.SliceRows,
    };

    // The first of them counts where only some reasons are settled by what an operator does.
    private static string? Both(string? first, string? second) => first is null || second is null ? first ?? second : $"{first}; {second}";

    /// <summary>
    /// Behind the row: a mark without a row would be cleared by a sweep, a receipt without one would hide the
    /// file for good, and an id that is confirmed has to be there. A row without them is made good by this
    /// message's next delivery.
    /// </summary>
    private async Task TakenOnAsync(LoadHead load, CancellationToken cancellationToken)
    {
        await register.ConfirmAsync(new StoreIds(load.Id, load.Mark), cancellationToken);
        await register.MarkOpenAsync(load.Id, cancellationToken);
        await register.AddReceiptAsync(load.Blob, cancellationToken);
    }
}
