using System.Collections;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Hosting;

/// <summary>
/// Reads the settings of the Functions apps from their environment. They equal those of every host, except that a setting for data that
/// must outlive an instance has no default.
/// </summary>
public static class FunctionsAppSettings
{
    /// <summary>The triggers' connection: dropped files and queues. AzureWebJobsStorage belongs to the Functions host.</summary>
    public const string BreachStorage = "BreachStorage";

    // A plan that ends functions after 10 minutes leaves 2 minutes to skip to the checkpoint and to finish a batch.
    private static readonly TimeSpan DefaultTimeBudget = TimeSpan.FromMinutes(8);

    // 9.5 minutes with the default budget of 8, which is within 10; 26.5 with one of 25, which is within 30.
    private static readonly TimeSpan LimitBeyondBudget = TimeSpan.FromSeconds(90);

    private static readonly TimeSpan MaxPlanLimit = TimeSpan.FromDays(7);

    /// <summary>Reads the settings of the API's app: it needs a storage account, and nothing of the pipeline.</summary>
    /// <exception cref="WrongSettingsException">Settings are missing or wrong.</exception>
    public static PipelineSettings ReadApi(IDictionary environment)
    {
        var errors = new SettingsErrors();
        var storage = errors.Try(() => FindStorage(environment));
        return Read(environment, storage, errors);
    }

    /// <exception cref="WrongSettingsException">Settings are missing or wrong.</exception>
    public static PipelineSettings ReadPipeline(IDictionary environment)
    {
        var errors = new SettingsErrors();
        var storage = errors.Try(() => FindStorage(environment));
        if (Find(environment, "HIBP_DATABASE") is null)
            errors.Add("HIBP_DATABASE is expected to name the database: every instance has to work with the same");
        if (Find(environment, "HIBP_MAIL") is null)
            errors.Add("HIBP_MAIL is expected to name a mail server: a folder of an instance goes with it");
        var settings = Read(
            environment, storage, errors, new() { [nameof(IngestOptions.TimeBudget)] = DefaultTimeBudget.ToString() });
        var ingest = settings.Get<IngestOptions>();
        if (ingest.PlanLimit != TimeSpan.Zero || ingest.TimeBudget == TimeSpan.Zero)
            return settings;
        var limit = ingest.TimeBudget + LimitBeyondBudget;
        return settings.With(nameof(IngestOptions.PlanLimit), (limit < MaxPlanLimit ? limit : MaxPlanLimit).ToString());
    }

    private static PipelineSettings Read(
        IDictionary environment, string? storage, SettingsErrors errors, Dictionary<string, string?>? defaults = null)
    {
        var settings = errors.Try(() => PipelineSettings.Read(storage, null, environment, defaults));
        errors.ThrowIfAny();
        return settings!;
    }

    // A connection string, or the URI for an identity-based connection.
    private static string FindStorage(IDictionary environment) =>
        Find(environment, "HIBP_STORAGE") ?? Find(environment, BreachStorage) ?? Find(environment, $"{BreachStorage}__blobServiceUri")
        ?? throw new BadInputException($"HIBP_STORAGE or {BreachStorage} is expected to name the storage account");

    private static string? Find(IDictionary environment, string variable) =>
        environment[variable] is string { Length: > 0 } value && !string.IsNullOrWhiteSpace(value) ? value : null;
}
