using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Integration.Tests.EndToEnd;

internal static class RemovalSteps
{
    public static readonly Action<TestOptions> Small = options =>
        (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.TransactionsInFlight, options.Mail.MailsPerMessage,
            options.Upsert.Ranges) = (8, 4, 2, 2, RangesMode.On);

    public static readonly Action<TestOptions> Journaled = Small + (options => options.Journal.Mode = JournalMode.On);

    /// <summary>Removes a breach in chunks of a few rows, so that there are several.</summary>
    public static Task<BreachRemoval> RemoveAsync(
        PipelineParts context, string breach, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken,
        int chunkRows = 5) =>
        context.GetRemoveBreach(chunkRows).RunAsync(breach, progress, cancellationToken);

    public static async Task<Load> LoadAsync(
        PipelineRig rig, string breach, int first, int count, bool purged = false, string? metadata = null)
    {
        var blob = await rig.DropAccountsAsync($"{breach}.zip", first, count, metadata);
        await rig.RunToEndAsync();
        var load = (await rig.LoadsAsync()).Last(one => one.Blob == blob);
        Assert.Equal(LoadState.Done, load.State);
        if (purged)
            await rig.Context.Get<PurgeLoad>().RunAsync(
                load.Id, withoutJournal: rig.Options.Journal.Mode == JournalMode.Off, null, None);
        return load;
    }

    public static async Task<IReadOnlyList<Load>> LoadsAsync(PipelineRig rig, string breach) =>
        await rig.Context.Database.ListLoadsAsync(breach, None);

    /// <summary>Returns how many of the accounts a freshly started reader finds in the breach.</summary>
    public static async Task<int> FindAllAsync(PipelineRig rig, int first, int count, string breach) =>
        (await rig.FindAsync([.. PipelineRig.Expected(first, count)])).Count(found => found.Any(one => one.Name == breach));
}
