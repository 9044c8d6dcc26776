using System.Collections;
using System.Globalization;
using HibpIngest.Errors;
using HibpIngest.Hosting;

namespace HibpIngest.Functions;

/// <summary>
/// What the app settings say, which reach the handler as its environment. They are those of every host, save
/// that nothing that must outlive this machine has a default.
/// </summary>
internal static class HandlerSettings
{
    /// <summary>Where the host says on which port it expects this process.</summary>
    public const string PortVariable = "FUNCTIONS_CUSTOMHANDLER_PORT";

    /// <summary>Says which of the two apps this program is.</summary>
    public const string AppVariable = "HIBP_APP";

    /// <summary>The pipeline's functions.</summary>
    public const string IngestApp = "ingest";

    /// <summary>The API.</summary>
    public const string WebApp = "web";

    /// <summary>
    /// The triggers' connection, in each function.json: the account of the zips and the queues.
    /// AzureWebJobsStorage is the host's alone.
    /// </summary>
    public const string BreachStorage = "BreachStorage";

    // Where functions are cut off at 10 minutes, some of them are for what has been copied already, and one for the last batch.
    private static readonly TimeSpan DefaultTimeBudget = TimeSpan.FromMinutes(8);

    // With the default budget half a minute less than 10 minutes, and with 25 minutes well within 30.
    private static readonly TimeSpan LimitBeyondBudget = TimeSpan.FromSeconds(90);

    /// <summary>The port; null where the variable is missing or no port.</summary>
    public static int? ReadPort(IDictionary environment) =>
        int.TryParse((string?)environment[PortVariable], NumberStyles.None, CultureInfo.InvariantCulture, out var port)
        && port is > 0 and <= ushort.MaxValue ? port : null;

    /// <summary>Whether it is the app of the pipeline's functions: unless HIBP_APP says otherwise, as before there were two.</summary>
    public static bool IsIngest(IDictionary environment) => (Find(environment, AppVariable) ?? IngestApp) == IngestApp;

    /// <summary>Reads and checks those of the app that is the API: it needs a storage account, and nothing of the pipeline.</summary>
    /// <exception cref="BadInputException">One is missing or not what it has to be; the message names it.</exception>
    public static PipelineSettings ReadWeb(IDictionary environment)
    {
        if (Find(environment, AppVariable) is var app && app != WebApp)
            throw new BadInputException($"{AppVariable} is expected to be {IngestApp} or {WebApp}, found '{app}'");
        return PipelineSettings.Read(FindStorage(environment), null, environment);
    }

    /// <summary>Reads and checks those of the app of the pipeline's functions.</summary>
    /// <exception cref="BadInputException">One is missing or not what it has to be; the message names it.</exception>
    public static PipelineSettings Read(IDictionary environment)
    {
        var storage = FindStorage(environment);
        _ = Find(environment, "HIBP_DATABASE")
            ?? throw new BadInputException("HIBP_DATABASE is expected to name the database: every instance has to work with the same");
        _ = Find(environment, "HIBP_MAIL")
            ?? throw new BadInputException("HIBP_MAIL is expected to name a mail server: a folder of this machine goes with it");
        var settings = PipelineSettings.Read(storage, null, environment, options => options.TimeBudget = DefaultTimeBudget);
        if (settings.Options.PlanLimit == TimeSpan.Zero && settings.Options.TimeBudget > TimeSpan.Zero)
            settings.Options.PlanLimit = settings.Options.TimeBudget + LimitBeyondBudget;
        return settings;
    }

    // A connection string, or by identity.
    private static string FindStorage(IDictionary environment) =>
        Find(environment, "HIBP_STORAGE") ?? Find(environment, BreachStorage) ?? Find(environment, $"{BreachStorage}__blobServiceUri")
        ?? throw new BadInputException($"HIBP_STORAGE or {BreachStorage} is expected to name the storage account");

    private static string? Find(IDictionary environment, string variable) =>
        environment[variable] is string { Length: > 0 } value && !string.IsNullOrWhiteSpace(value) ? value : null;
}
