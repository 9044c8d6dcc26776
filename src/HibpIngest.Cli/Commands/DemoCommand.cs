using System.Net;
using System.Net.Http.Json;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.LocalHost;
using HibpIngest.Cli.Samples;
using HibpIngest.Hosting.Messages;
using HibpIngest.Hosting.Web;
using HibpIngest.Passwords.Serving;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Setup;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;

namespace HibpIngest.Cli.Commands;

internal sealed class DemoCommand : HibpCommand
{
    // The demo writes to a pickup folder, so there is no mail server to protect with a low rate.
    private const double MailsPerSecond = 10_000;

    // A person is watching, and this process is the emulator's only client: more concurrent slices are no faster, and with two the progress
    // moves steadily.
    private static readonly QueueListenerOptions Impatient =
        new() { BatchSize = 2, NewBatchThreshold = 1, RetryDelay = TimeSpan.FromSeconds(1), MaxPause = TimeSpan.FromMilliseconds(200) };

    private readonly Argument<FileInfo?> _file =
        new("FILE") { Description = "The breach to load. Default: the included sample.", Arity = ArgumentArity.ZeroOrOne };
    private readonly Option<string[]> _subscribe = new("--subscribe")
    {
        Description = "Subscribe this address too: if it is in the breach, it gets a mail in the pickup folder. May be given several "
            + "times.",
        HelpName = "ADDRESS",
    };
    private readonly Option<string?> _title = new("--title") { Description = "Title of the breach in mails.", HelpName = "TEXT" };
    private readonly Option<string?> _password = CommonOptions.Password();
    private readonly Option<bool> _passwordFromInput = CommonOptions.PasswordFromInput();

    public DemoCommand()
        : base("demo", "Run the whole pipeline on this machine: start a storage emulator, load a breach, notify its subscribers, look up "
            + "an account, and stop.")
    {
        Add(_file!.AcceptExistingOnly(), _subscribe, _title, _password, _passwordFromInput);
        Validators.Add(result =>
        {
            if (IsGiven(result, CommonOptions.Storage))
                result.AddError("the demo uses a storage emulator of its own: leave --storage out");
        });
        AddExamples(
            ("hibp demo", "the included sample, in a few seconds"),
            ("hibp demo Adobe.zip", "your own breach; the emulator handles up to half a million accounts"),
            ("hibp demo Adobe.zip --title \"Adobe Systems\" --subscribe me@example.com", "with a title, and a check whether an address is "
                + "in it"),
            ("hibp demo --database \"Server=...;Database=...\"", "on a database server, in a new database"));
    }

    protected override bool IsHost => true;

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        session.PipelineLevel = LogLevel.Critical;
        var time = session.Time;
        var screen = session.Screen;
        var started = time.GetTimestamp();
        var given = session.Parsed.GetValue(_file);
        // Errors in the file are reported before anything else starts.
        var drop = given is null ? null : DropCommand.Prepare(given);
        if (drop is not null)
            DropCommand.WarnOfUnknown(screen, drop);
        var subscribed = (session.Parsed.GetValue(_subscribe) ?? []).Select(text => text.Trim().ToLowerInvariant()).Distinct().ToList();
        if (subscribed.Exists(address => !AccountRules.TryParse(address, out _, out _)))
            throw new BadInputException("--subscribe: expected an address, as in me@example.com");
        var password = await GetPasswordAsync(session, _password, _passwordFromInput, cancellationToken);
        if (password is not null && drop is not null)
            ArchivePasswords.CheckTakesOne(drop.Blob);
        var settings = session.Settings;
        session.WarnOfUnknownVariables();

        Directory.CreateDirectory(settings.Home);
        var folder = Path.Combine(settings.Home, "demo");
        await using var mine = Lock(folder);
        if (Directory.Exists(folder))
            Directory.Delete(folder, recursive: true);
        var samples = Directory.CreateDirectory(Path.Combine(folder, "samples")).FullName;
        ShippedSample.WriteTo(samples);
        var file = given ?? new FileInfo(Path.Combine(samples, ShippedSample.Archive));
        drop ??= DropCommand.Prepare(file);
        if (DescriptionOptions.Trim(session.Parsed.GetValue(_title)) is { } title)
            drop = DropCommand.Titled(drop, title);

        screen.Say("starting a storage emulator of its own, in memory");
        await using var emulator = await AzuriteEmulator.StartAsync(
            new AzuriteOptions { Progress = new ImmediateProgress<string>(screen.Say) }, cancellationToken);

        var mails = Path.Combine(folder, "mail");
        settings =
            settings with
            {
                Emulator = null,
                Storage = emulator.ConnectionString,
                AdditionalStorage = [],
                JournalStorage = null,
                Database = session.Parsed.GetValue(CommonOptions.Database)
                ?? Path.Combine(folder, "hibp.db"),
                Mail = "pickup:" + mails,
            };
        // An error that a retry can't fix ends the demo at once.
        var hopeless = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);
        var host = new HostBuilder().ConfigureServices(
            on => on.AddSingleton(time).AddSingleton(session.Logs).AddHibp(settings)
                .Configure<MailOptions>(options => options.MailsPerSecond = MailsPerSecond)
                .AddSingleton<IOptions<PasswordOptions>>(new OptionsWrapper<PasswordOptions>(new()))
                .AddHibpLocalHost(new LocalHostOptions
                {
                    Roles = HostRoles.All & ~(HostRoles.Passwords | HostRoles.Access),
                    Queues = Impatient,
                    OnFailure = (_, e) => GiveUpOn(e),
                    OnStopping = messages =>
                    {
                        if (cancellationToken.IsCancellationRequested)
                            screen.Say(RunCommand.Stopping(messages));
                    },
                })).Build();
        await using var opened = (IAsyncDisposable)host;
        var services = host.Services;
        services.OpenStores();
        services.GetRequiredService<Deferrals>().Subscribe(put => GiveUpOn(put.Error));
        var (database, keys) = (services.GetRequiredService<IBreachDatabase>(), services.GetRequiredService<InstallationKeys>());
        await services.GetRequiredService<StoreSetup>().EnsureAsync(cancellationToken);

        var imported = await SubscribersImportCommand.ImportAsync(
            database, keys.Suppression, SubscribersImportCommand.Read(Path.Combine(samples, ShippedSample.Subscribers)),
            cancellationToken);
        screen.Say($"imported {TableFormat.Number(imported.Added)} subscriptions of the sample");
        await database.ImportSubscribersAsync(
            [.. subscribed.Select(address => new Subscription(address, null))], keys.Suppression, cancellationToken);
        screen.Say($"dropping {drop.Blob} ({TableFormat.Bytes(file.Length)}) as breach {drop.Breach}");
        // The ingest is in this process: no key is needed.
        if (password is not null)
            await services.GetRequiredService<ArchivePasswords>().PutAsync(ArchivePasswords.Coming(drop.Blob), password, cancellationToken);
        var version = await DropCommand.UploadAsync(
            services.GetRequiredService<IBreachBlobs>(), time, screen, file, drop, cancellationToken);

        using var stop = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        var running = LocalHostRunner.RunAsync(host, stop.Token);
        Load load;
        try
        {
            var follow = new LoadFollower(database, screen, time, MailsPerSecond).FollowAsync(version, stop.Token);
            var first = await Task.WhenAny(follow, running, hopeless.Task);
            if (first == hopeless.Task)
                throw new CommandFailedException((await hopeless.Task).Message);
            if (first == running)
                await running;
            load = await follow;
        }
        finally
        {
            await stop.CancelAsync();
            await running.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
        if (load.State == LoadState.Failed)
            throw new CommandFailedException($"load {load.Id} of {load.Breach} failed: {load.Error}");
        var total = time.GetElapsedTime(started);

        var account = await FirstAccountAsync(database, load, cancellationToken);
        var found = account is null ? []
            : await LookUpAsync(session, settings, account, cancellationToken);
        var subscribers = new List<DemoSubscriber>();
        foreach (var address in subscribed)
            subscribers.Add(new DemoSubscriber(address, await IsNotifiedAsync(database, load, address, cancellationToken)));
        if (screen.TryShowJson(
            () => Document(load, total) with { Subscribed = subscribers, Found = [.. found.Select(breach => breach.Name)] }))
            return;
        screen.Show(Summary(load, total, session.Parsed.GetValue(CommonOptions.Verbose)));
        if (account is not null)
        {
            screen.Show("Lookup of the first account by the demo's own API (GET /api/v3/breachedaccount/...):");
            LookupCommand.Show(screen, account, found);
        }
        foreach (var (address, isIn) in subscribers)
            screen.Show($"{address} is {(isIn ? "in the breach, and is notified" : "not in the breach, and gets no mail")}.");
        screen.Show(load.State == LoadState.Held ? "The mails are held, as the breach's metadata requires." : $"The mails are in {mails}.");
        return;

        void GiveUpOn(Exception e)
        {
            if (e is StoreFullException or StoreRefusedException or StoreMismatchException)
                hopeless.TrySetResult(e);
        }
    }

    /// <summary>Queries the API over HTTP, as an outside caller would.</summary>
    private static async Task<IReadOnlyList<PublicBreach>> LookUpAsync(
        CommandSession session, PipelineSettings settings, string account, CancellationToken cancellationToken)
    {
        await using var server = await WebServer.StartAsync(
            new WebServerOptions { Urls = ["http://127.0.0.1:0"], IsOpen = true },
            services => services.AddHibpApiStorage(settings.Storage, settings.AdditionalStorage, nearest: null),
            session.Time, session.Logs, cancellationToken);
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        client.DefaultRequestHeaders.UserAgent.ParseAdd("hibp-demo");
        using var response = await client.GetAsync(
            $"{server.Addresses[0]}/api/v3/breachedaccount/{Uri.EscapeDataString(account)}?truncateResponse=false", cancellationToken);
        if (response.StatusCode == HttpStatusCode.NotFound)
            return [];
        if (!response.IsSuccessStatusCode)
        {
            throw new CommandFailedException(
                $"the demo's API returned {(int)response.StatusCode} for the lookup, expected 200; run again with --verbose");
        }
        return await response.Content.ReadFromJsonAsync(CatalogueJson.Default.IReadOnlyListPublicBreach, cancellationToken) ?? [];
    }

    /// <summary>Uses the matches, not the API: a sensitive breach is in no public response, but its subscribers are notified.</summary>
    private static async Task<bool> IsNotifiedAsync(
        INotifications notifications, Load load, string address, CancellationToken cancellationToken)
    {
        const int PageSize = 10_000;
        for (var first = 1; first <= load.Notifications.Total; first += PageSize)
        {
            if ((await notifications.ListNotificationsAsync(load.Id, first, first + PageSize - 1, cancellationToken))
                .Any(one => one.Domain is null && one.Email == address))
                return true;
        }
        return false;
    }

    /// <summary>Locks the folder: two concurrent demos would delete each other's files.</summary>
    private static FileStream Lock(string folder)
    {
        try
        {
            return new FileStream(folder + ".lock", FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
        }
        catch (IOException e) when (e is not (FileNotFoundException or DirectoryNotFoundException))
        {
            throw new NotPossibleException(
                $"another demo is running in {Path.GetFullPath(folder)}: wait for its end, or set HIBP_HOME to another folder");
        }
    }

    private static async Task<string?> FirstAccountAsync(ILoadRows rows, Load load, CancellationToken cancellationToken)
    {
        if (load.LastPosition == 0)
            return null;
        var batch = new AccountBatch(1);
        await rows.ReadRowsAsync(load.Id, 1, 1, batch, cancellationToken);
        return $"{Encoding.ASCII.GetString(batch.Alias(0))}@{Encoding.ASCII.GetString(batch.Domain(0))}";
    }

    internal static FittingTable Summary(Load load, TimeSpan total, bool showsRules)
    {
        var rejected = load.Checkpoint.Rejected;
        var seconds = Seconds(load, total);
        var table = TableFormat.Create("", "count", "duration", "rate").AlignRight(1, 2, 3);
        Add("accounts found", load.Accounts, seconds.Ingest, "rows");
        if (showsRules)
        {
            foreach (var rule in Enum.GetValues<AccountRule>().Where(rule => rejected.ByRule[(int)rule] > 0))
                Add($"  rejected: {RuleWords.Of(rule)}", rejected.ByRule[(int)rule]);
        }
        else if (rejected.Total is > 0 and var count)
            Add("  rejected (reasons: --verbose)", count);
        if (rejected.Duplicates > 0)
            Add("  duplicates", rejected.Duplicates);
        Add("batches", load.Batches);
        Add("slices", load.Slices.Total);
        Add("entities upserted", load.Entities, seconds.Upsert, "entities");
        Add("mails", load.Notifications.Total, seconds.Notify, "mails");
        table.AddRow("total", "", TableFormat.Duration(TimeSpan.FromSeconds(seconds.Total)), "");
        return table;

        void Add(string what, long count, double? duration = null, string unit = "") => table.AddRow(
            what, TableFormat.Number(count), duration is { } some ? TableFormat.Duration(TimeSpan.FromSeconds(some)) : "",
            duration is > 0 && TableFormat.Rate(count / duration.Value) is { Length: > 0 } rate ? $"{rate} {unit}/s" : "");
    }

    private static DemoDocument Document(Load load, TimeSpan total) => new(
        load.Breach, load.Id.Value, load.Accounts, load.Checkpoint.Rejected.Total, load.Batches, load.Slices.Total, load.Entities,
        load.Notifications.Total, Seconds(load, total));

    private static DemoSeconds Seconds(Load load, TimeSpan total) => new(
        Between(load.StartedAt, load.IngestedAt), Between(load.StartedAt, load.UpsertedAt), Between(load.UpsertedAt, load.FinishedAt),
        Math.Round(total.TotalSeconds, 3));

    private static double Between(DateTimeOffset? from, DateTimeOffset? to) =>
        from is null || to is null ? 0 : Math.Round(LoadFigures.Between(from.Value, to.Value).TotalSeconds, 3);
}
