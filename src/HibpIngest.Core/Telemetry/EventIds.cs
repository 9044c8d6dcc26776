namespace HibpIngest.Telemetry;

/// <summary>
/// The event ids of all log lines. An id is a contract: alerts, the workbook and readers of the log rely on it. Ids are never reassigned; a
/// removed line leaves its id unused. Each stage and adapter has a range of its own.
/// </summary>
public static class EventIds
{
    public const int IngestBreachCopied = 1000;
    public const int IngestBreachHandedOn = 1001;
    public const int IngestBreachLeaseHeld = 1002;
    public const int IngestBreachLost = 1003;
    public const int IngestBreachFailed = 1004;
    public const int IngestBreachUnexpected = 1005;
    public const int IngestBreachBegun = 1006;
    public const int IngestBreachUnknownMetadata = 1008;
    public const int UpsertSliceUpserted = 1100;
    public const int UpsertSliceGone = 1101;
    public const int UpsertSliceFailed = 1102;
    public const int UpsertSliceGaveUp = 1103;
    public const int UpsertSliceHeld = 1104;
    public const int UpsertSliceLost = 1105;
    public const int UpsertSliceAgain = 1106;
    public const int MatchSubscribersMatched = 1200;
    public const int MatchSubscribersFailed = 1201;
    public const int MatchSubscribersHandedOn = 1202;
    public const int MatchSubscribersLost = 1203;
    public const int SendNotificationsSent = 1300;
    public const int SendNotificationsClaimLost = 1301;
    public const int SendNotificationsDone = 1302;
    public const int SendNotificationsStopped = 1303;
    public const int SendNotificationsDeferred = 1304;
    public const int SendNotificationsHeld = 1305;
    public const int SendNotificationsSuppressed = 1306;
    public const int SweepResent = 1400;
    public const int SweepSlicesResent = 1401;
    public const int SweepClientsResent = 1402;

    // StageRunner. It also replaces 5230 and 5330, which are not reassigned.
    public const int StageRunnerDeferred = 1500;
    public const int IngestBreachNotItsTurn = 1501;
    public const int SqlServerBreachDatabaseCopiedInPieces = 1600;
    public const int SqlServerBreachDatabaseWasCommitted = 1601;
    public const int SqlServerBreachDatabaseTriedAgain = 1602;
    public const int RemoveBreachBegun = 1800;
    public const int RemoveBreachWaiting = 1801;
    public const int RemoveBreachMarkStays = 1802;
    public const int RemoveBreachRemoved = 1803;
    public const int RemoveBreachPaused = 1804;
    public const int PublishCataloguePublished = 1900;
    public const int PublishCatalogueBehind = 1901;
    public const int PublishCatalogueBadLogo = 1902;
    public const int PublishCatalogueRestored = 1903;
    public const int FillRangesBegun = 2000;
    public const int FillRangesRemoved = 2001;
    public const int FillRangesOn = 2002;
    public const int FillRangesPaused = 2003;
    public const int WriteJournalSegment = 2100;
    public const int WriteJournalDone = 2101;
    public const int WriteJournalHandedOn = 2102;
    public const int WriteJournalFailed = 2103;
    public const int RecoverLoadsRecovered = 2110;
    public const int RecoverLoadsRefused = 2111;

    // RebuildLayout
    public const int RebuildBegun = 2200;
    public const int RebuildRemoved = 2201;
    public const int RebuildDone = 2202;
    public const int RebuildPaused = 2203;

    // CallClients: 2300-2309.
    public const int CallClientsLookedThrough = 2300;
    public const int CallClientsFailed = 2301;

    // DeliverCallbacks: 2310-2319.
    public const int DeliverCallbacksCalled = 2310;
    public const int DeliverCallbacksGone = 2311;
    public const int DeliverCallbacksLost = 2312;
    public const int DeliverCallbacksFailed = 2313;
    public const int DeliverCallbacksNoSecret = 2314;
    public const int AccountTablePartScanned = 4101;
    public const int CatalogueReaderRead = 5000;
    public const int HandleCommandApplied = 4200;
    public const int HandleCommandIgnored = 4201;
    public const int HandleCommandRefused = 4202;
    public const int ProvenDomainsFailed = 4210;
    public const int ProvenDomainsLapsed = 4211;
    public const int ProvenDomainsNotChecked = 4212;
    public const int ProvenDomainsRefused = 4213;
    public const int CatalogueReaderDown = 5001;
    public const int CatalogueReaderUp = 5002;
    public const int LayoutReadsDown = 5010;
    public const int LayoutReadsUp = 5011;
    public const int WebServerFailed = 5100;
    public const int ApiRefreshEnded = 5101;
    public const int ServedReaderServed = 5200;
    public const int ServedReaderNothing = 5201;
    public const int ServedReaderDown = 5202;
    public const int ServedReaderUp = 5203;
    public const int NearestRangesSkipped = 5220;
    public const int NearestRangesBack = 5221;
    public const int PlanImportPlanned = 5240;
    public const int CompleteImportListed = 5250;
    public const int CompleteImportServed = 5251;
    public const int CompleteImportRefused = 5252;
    public const int CompleteImportReplaced = 5253;
    public const int CompleteImportAlready = 5254;
    public const int CompleteImportNotServed = 5255;
    public const int CompleteImportReplicaBehind = 5256;
    public const int CompleteImportTooSmall = 5257;
    public const int SweepImportsResent = 5260;
    public const int PurgeHookFailed = 5210;
    public const int AppendPasswordsDone = 5270;
    public const int SweepAppendsLate = 5271;
    public const int SubmitAppendsNotSent = 5272;

    // GroupCommitLog
    public const int AccessLogDown = 5300;
    public const int AccessLogUp = 5301;
    public const int AccessLogLost = 5302;
    public const int AccessLogFull = 5303;
    public const int RollUpAccessCounted = 5310;
    public const int SweepAccessEnded = 5320;
    public const int SweepAccessLate = 5321;
    public const int SweepAccessRefused = 5322;
    public const int QueueListenerFailed = 9001;
    public const int QueueListenerPoisoned = 9002;
    public const int QueueListenerLost = 9003;
    public const int QueueListenerNotRenewed = 9004;
    public const int QueueListenerNotSettled = 9005;
    public const int QueueListenerStillAtWork = 9006;
    public const int StoreHealthDown = 9010;
    public const int StoreHealthUp = 9011;
    public const int LocalHostStarted = 9020;
    public const int LocalHostStopped = 9021;
    public const int LocalHostRunFailed = 9022;
    public const int HostServicesSettings = 9030;

    // InvocationGuard
    public const int InvocationFailed = 9040;
    public const int FunctionsAppWrongSetting = 9041;
    public const int FunctionsAppUnknownSetting = 9042;

    // Functions.Api
    public const int ApiAppSettings = 9043;

    // Progress of a load, each minute
    public const int LoadSeen = 1700;
}
