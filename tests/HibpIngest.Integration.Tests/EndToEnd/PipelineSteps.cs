using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Sweeping;

namespace HibpIngest.Integration.Tests.EndToEnd;

internal static class PipelineSteps
{
    extension(PipelineRig rig)
    {
        /// <summary>Uploads a zip of <see cref="PipelineRig.Accounts"/>.</summary>
        public Task<BlobVersion> DropAccountsAsync(string blob, int first, int count, string? metadata = null) =>
            rig.DropAsync(blob, PipelineRig.Zip(("a.csv", PipelineRig.Accounts(first, count))), metadata);

        /// <summary>Uploads a zip of accounts, and processes it to the end.</summary>
        public async Task LoadAccountsAsync(string blob, int first, int count, string? metadata = null)
        {
            await rig.DropAccountsAsync(blob, first, count, metadata);
            await rig.RunToEndAsync();
        }

        /// <summary>Uploads a zip of accounts, and ingests it: afterwards its slices' messages are in their queue.</summary>
        public async Task IngestAccountsAsync(string blob, int first, int count, string? metadata = null)
        {
            await rig.DropAccountsAsync(blob, first, count, metadata);
            await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
            Assert.NotEqual(0, await rig.Context.HandleMessagesAsync(QueueNames.Ingest));
        }

        /// <summary>Subscribes the owner of each of these accounts.</summary>
        public Task ImportAccountsAsync(int first, int count) =>
            rig.ImportAsync([.. PipelineRig.Expected(first, count).Select(account => (account, (string?)null))]);

        /// <summary>Returns the accounts of a load's rows, in order.</summary>
        public async Task<List<string>> RowsAsync(LoadId load)
        {
            const int MaxRows = 10_000;
            var rows = new AccountBatch(MaxRows);
            await rig.Context.Database.ReadRowsAsync(load, 1, MaxRows, rows, None);
            return [.. Enumerable.Range(0, rows.Count).Select(
                i => $"{Encoding.ASCII.GetString(rows.Alias(i))}@{Encoding.ASCII.GetString(rows.Domain(i))}")];
        }

        /// <param name="backup">Null: the database is lost.</param>
        public Task RestoreOrLoseAsync(string? backup) => backup is null ? rig.LoseDatabaseAsync() : rig.RestoreAsync(backup);

        public async Task<long> CountAsync(string table) => (long)(await rig.ExecuteAsync($"SELECT COUNT(*) FROM {table}"))!;

        /// <summary>Returns the content of a blob of the journal.</summary>
        public async Task<byte[]> ReadJournalAsync(string name)
        {
            await using var stream = await rig.Context.Log.OpenAsync(name, 0, long.MaxValue, None);
            using var copy = new MemoryStream();
            await stream!.CopyToAsync(copy);
            return copy.ToArray();
        }

        /// <summary>Makes another layout the one that is read.</summary>
        public Task<StoreLayout> SwitchAsync(string layout) =>
            rig.OpenContext().Get<LayoutOperations>().SwitchAsync(layout, withoutRanges: false, None);

        public async Task AssertQueuesEmptyAsync() => Assert.All((await rig.DepthsAsync()).Values, depth => Assert.Equal(0, depth));
    }

    extension(PipelineParts context)
    {
        /// <summary>Processes the visible messages of a queue, as a host does, and returns their number.</summary>
        public async Task<int> HandleMessagesAsync(string queue, int limit = 32, CancellationToken cancellationToken = default)
        {
            var dispatcher = context.Get<MessageDispatcher>();
            var messages = await context.Queues.Get(queue).ReceiveAsync(limit, TimeSpan.FromMinutes(10), None);
            foreach (var message in messages)
            {
                await dispatcher.DispatchAsync(queue, message.Body, cancellationToken);
                await context.Queues.Get(queue).DeleteAsync(message, None);
            }
            return messages.Count;
        }

        /// <summary>Returns parts with a hook that runs before a zip is opened.</summary>
        public PipelineParts WithBlobs(Func<Task> beforeOpen) => context with
        {
            Blobs = PortProxy<IBreachBlobs>.Create(
                context.Blobs, method => method == nameof(IBreachBlobs.OpenAsync) ? beforeOpen() : Task.CompletedTask),
        };

        /// <summary>Returns parts whose calls of the database and the tables are recorded by their names.</summary>
        public (PipelineParts Context, ConcurrentQueue<string> Calls) Recorded()
        {
            var calls = new ConcurrentQueue<string>();
            var hooks = new HookedPorts((_, what) =>
            {
                calls.Enqueue(what);
                return Task.CompletedTask;
            });
            return (hooks.Wrap(context), calls);
        }

        /// <summary>Processes a message that is in no queue.</summary>
        public Task DispatchAsync(WorkMessage message) =>
            context.Get<MessageDispatcher>().DispatchAsync(message.GetQueue(), message.ToJson(), None);

        public Task SweepAsync() => context.Get<Sweep>().RunAsync(None);

        public async Task SweepToEndAsync()
        {
            await context.SweepAsync();
            await PipelineRig.RunToEndAsync(context);
        }

        public Task<ReconciledDatabase> ReconcileAsync(bool empty = false) =>
            context.Get<ReconcileRestoredDatabase>().RunAsync(None, empty);
    }
}

/// <summary>Keeps all reports, in order.</summary>
internal sealed class Reports<T> : IProgress<T>
{
    public List<T> Seen { get; } = [];

    public void Report(T value)
    {
        lock (Seen)
            Seen.Add(value);
    }
}

internal static class Refusal
{
    /// <summary>Asserts that a call throws this exception, with these words in its message.</summary>
    public static async Task AssertAsync<T>(string words, Func<Task> call)
        where T : Exception =>
        Assert.Contains(words, (await Assert.ThrowsAsync<T>(call)).Message, StringComparison.Ordinal);
}
