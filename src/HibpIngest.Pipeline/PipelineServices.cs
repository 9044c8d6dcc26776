using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Matching;
using HibpIngest.Pipeline.People;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Subscribers;
using HibpIngest.Pipeline.Sweeping;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Pipeline;

public static class PipelineServices
{
    // Their limits, locks and caches apply to the process.
    private static readonly Type[] Singletons =
    [
        typeof(Deferrals), typeof(ArchivePasswords), typeof(StoreSetup), typeof(DroppedBreaches), typeof(IngestBreach), typeof(UpsertSlice),
        typeof(MatchSubscribers), typeof(SendNotifications), typeof(CallClients), typeof(DeliverCallbacks), typeof(WriteJournal),
        typeof(Sweep), typeof(SweepCatalogue), typeof(NotificationMails), typeof(HandleCommand),
    ];

    private static readonly Type[] Transients =
    [
        typeof(PipelineMessages), typeof(LoadReports), typeof(LoadLeases), typeof(LoadTrace), typeof(BlobScan), typeof(LoadCopy),
        typeof(LoadStart), typeof(UpsertCompletion), typeof(MailSchedule), typeof(CallSchedule), typeof(PreviewCalls),
        typeof(WatchedPrefixes), typeof(JournaledRows), typeof(JournalSchedule), typeof(RecoverLoads), typeof(RepairJournal),
        typeof(RepairRemoved), typeof(SegmentCopy), typeof(JournalChanges), typeof(VerifyJournal), typeof(FillRanges),
        typeof(LayoutOperations), typeof(RebuildLayout), typeof(LayoutChanges), typeof(ApplySuppressions), typeof(BreachLoads),
        typeof(BreachOperations), typeof(CallbackOperations), typeof(RequeueSlices), typeof(ResumeLoad), typeof(AssignLoad),
        typeof(PurgeLoad), typeof(MailOperations), typeof(PoisonQueue), typeof(ReconcileRestoredDatabase), typeof(RecoverFromJournal),
        typeof(StartLostZips), typeof(PublishCatalogue), typeof(RemovalStatus), typeof(RemoveBreach), typeof(RecordRemoval),
        typeof(RemoveMarks), typeof(SweepLoads), typeof(LostMessages), typeof(LoadSchedules), typeof(StoreContainers),
        typeof(StoreLayouts), typeof(CopyToRanges), typeof(RebuildSources), typeof(MatchLoad), typeof(SliceRuns), typeof(FindCalls),
        typeof(CallLists), typeof(LoadArchive), typeof(StartSlices), typeof(SubscriberOperations),
        typeof(MailLinks), typeof(PersonLimits), typeof(PersonMails), typeof(RequestMails), typeof(FollowedLinks), typeof(ProvenDomains),
        typeof(LapsingProofs), typeof(OptOutOperations),
    ];

    /// <summary>
    /// Adds the stages and an operator's operations. The caller adds the stores, the senders of mails and calls, the keys, the options, the
    /// clock and logging.
    /// </summary>
    /// <param name="setsUpStores">True if the stores are set up before the first message, by a host that can't before it listens.</param>
    public static IServiceCollection AddHibpPipeline(this IServiceCollection services, bool setsUpStores = false)
    {
        foreach (var type in Singletons)
            services.AddSingleton(type);
        foreach (var type in Transients)
            services.AddTransient(type);
        // Lazy, so that an error in its files stops only the mails.
        services.AddSingleton(provider => new Lazy<MailComposer>(() => new MailComposer(
            provider.GetRequiredService<IOptions<MailOptions>>().Value.MailFrom, provider.GetRequiredService<MailService>(),
            provider.GetRequiredService<MailLinks>())));
        return services.AddSingleton(provider => new StageRunner(
            provider.GetRequiredService<PipelineMessages>(), provider.GetRequiredService<LoadTrace>(),
            provider.GetRequiredService<IOptions<RetryOptions>>(), provider.GetRequiredService<Deferrals>(),
            provider.GetRequiredService<ILogger<StageRunner>>(), setsUpStores ? provider.GetRequiredService<StoreSetup>() : null));
    }
}
