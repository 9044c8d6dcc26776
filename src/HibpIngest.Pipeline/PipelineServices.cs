using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Matching;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Subscribers;
using HibpIngest.Pipeline.Sweeping;
using HibpIngest.Pipeline.Upsert;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Pipeline;

public static class PipelineServices
{
    /// <summary>
    /// Adds the stages and an operator's operations. The caller adds the stores, the senders of mails and calls, the keys, the options, the
    /// clock and logging. Stages are singletons, because their limits and caches apply to the process; the other services keep no state.
    /// </summary>
    /// <param name="setsUpStores">Whether the stores are set up before the first message, for a host that can't before it listens.</param>
    public static IServiceCollection AddHibpPipeline(this IServiceCollection services, bool setsUpStores = false)
    {
        services.AddSingleton<Deferrals>();
        services.AddSingleton<ArchivePasswords>();
        services.AddSingleton<StoreSetup>();

        services.AddTransient<PipelineMessages>();
        services.AddTransient<LoadReports>();
        services.AddTransient<LoadLeases>();
        services.AddTransient<LoadTrace>();
        services.AddSingleton(provider => new StageRunner(
            provider.GetRequiredService<PipelineMessages>(), provider.GetRequiredService<LoadTrace>(),
            provider.GetRequiredService<IOptions<RetryOptions>>(), provider.GetRequiredService<Deferrals>(),
            provider.GetRequiredService<ILogger<StageRunner>>(), setsUpStores ? provider.GetRequiredService<StoreSetup>() : null));

        services.AddTransient<BlobScan>();
        services.AddSingleton<DroppedBreaches>();
        services.AddSingleton<IngestBreach>();
        services.AddTransient<LoadCopy>();
        services.AddTransient<LoadStart>();

        services.AddTransient<UpsertCompletion>();
        services.AddSingleton<UpsertSlice>();

        services.AddSingleton<MatchSubscribers>();
        services.AddTransient<MailSchedule>();
        services.AddSingleton<SendNotifications>();

        services.AddSingleton<CallClients>();
        services.AddTransient<CallSchedule>();
        services.AddSingleton<DeliverCallbacks>();
        services.AddTransient<PreviewCalls>();
        services.AddTransient<WatchedPrefixes>();

        services.AddTransient<JournaledRows>();
        services.AddSingleton<WriteJournal>();
        services.AddTransient<JournalSchedule>();
        services.AddTransient<RecoverLoads>();
        services.AddTransient<RepairJournal>();
        services.AddTransient<RepairRemoved>();
        services.AddTransient<SegmentCopy>();
        services.AddTransient<JournalChanges>();
        services.AddTransient<VerifyJournal>();

        services.AddTransient<FillRanges>();
        services.AddTransient<LayoutOperations>();
        services.AddTransient<RebuildLayout>();

        services.AddTransient<ApplySuppressions>();
        services.AddTransient<BreachLoads>();
        services.AddTransient<BreachOperations>();
        services.AddTransient<CallbackOperations>();
        services.AddTransient<LoadOperations>();
        services.AddTransient<MailOperations>();
        services.AddTransient<ReconcileRestoredDatabase>();
        services.AddTransient<PoisonQueue>();
        services.AddTransient<PublishCatalogue>();
        services.AddTransient<RemovalStatus>();
        services.AddTransient<RemoveBreach>();
        services.AddTransient<SubscriberOperations>();
        services.AddSingleton<Sweep>();
        return services;
    }
}
