using HibpIngest.Pipeline.Ingest;

namespace HibpIngest.Pipeline.Recovery;

public sealed class AssignLoad(
    ILoads loads, IWorkRegister register, IBreachBlobs blobs, PublishCatalogue catalogue, JournalSchedule journal, JournalChanges changes)
{
    /// <summary>Assigns a load to another breach than its blob's name says, with the metadata for that breach.</summary>
    /// <exception cref="BadInputException">The breach's name is invalid.</exception>
    /// <exception cref="NotPossibleException">There is no such load, or it is still open.</exception>
    public async Task<Load> RunAsync(LoadId load, string breach, CancellationToken cancellationToken)
    {
        BreachName.Check(breach);
        var found = await loads.RequireLoadAsync(load, cancellationToken);
        // The document is read first: if that fails, nothing is changed.
        var document = (await MetadataFile.ReadAsync(blobs, found.Blob.Name, breach, cancellationToken)).Document;
        await register.MarkOpenAsync(load, cancellationToken);
        await journal.OpenAsync(breach, cancellationToken);
        var change = await catalogue.ChangeAsync(
            () => loads.AssignLoadAsync(load, breach, document, cancellationToken), cancellationToken);
        await changes.PublishAsync(
            change, breach, $"load {load} is of {breach}", $"readers see it as of {found.Breach}", cancellationToken);
        return await loads.GetLoadAsync(load, cancellationToken) ?? found;
    }
}
