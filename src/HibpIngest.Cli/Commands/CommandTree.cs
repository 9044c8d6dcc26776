using System.CommandLine.Help;
using System.CommandLine.Invocation;

namespace HibpIngest.Cli.Commands;

internal static class CommandTree
{
    /// <summary>Spellings of earlier versions; each runs the command next to it. No help lists them.</summary>
    internal static readonly IReadOnlyList<(string Old, string Command)> OldSpellings =
    [
        ("breaches", "breach list"),
        ("breach show", "breach unhide"),
        ("slices", "load slices"),
        ("requeue", "load requeue"),
        ("resume", "load resume"),
        ("purge", "database purge"),
        ("backup", "database backup"),
        ("restore", "database restore"),
        ("notify", "mail release"),
        ("hold", "mail hold"),
        ("usage", "access usage"),
        ("layouts", "layout list"),
        ("rebuild", "layout rebuild"),
        ("switch", "layout switch"),
        ("log", "journal"),
    ];

    public static RootCommand Create()
    {
        var root = new RootCommand(
            "Loads breaches: extracts the accounts of a dropped file, makes them searchable, and notifies the affected subscribers.")
        {
            CommonOptions.Storage,
            CommonOptions.Database,
            CommonOptions.EmulatorPort,
            CommonOptions.Json,
            CommonOptions.Verbose,
        };
        var groups = CreateGroups();
        foreach (var command in groups.SelectMany(group => group.Commands))
            root.Add(command);
        foreach (var (old, command) in OldSpellings)
            Find(root, old.Split(' ')[..^1]).Add(Respell(old.Split(' ')[^1], command, Find(root, command.Split(' '))));
        foreach (var option in root.Options.OfType<VersionOption>())
            option.Action = new ShowVersion();
        foreach (var option in root.Options.OfType<HelpOption>())
        {
            if (option.Action is HelpAction standard)
                option.Action = new TeachingHelp(standard, groups);
        }
        return root;
    }

    internal static IReadOnlyList<(string Title, IReadOnlyList<Command> Commands)> CreateGroups() =>
    [
        ("Start here",
        [
            new DemoCommand(), new DoctorCommand(), new RunCommand(), new DropCommand(), new StatusCommand(), new LookupCommand(),
            new ServeCommand(),
        ]),
        ("Breaches and loads",
        [
            new CommandGroup(
                "breach", "List, describe, hide and remove breaches.", new BreachListCommand(), new BreachSetCommand(),
                new BreachAssignCommand(), new BreachHiddenCommand(hidden: true), new BreachHiddenCommand(hidden: false),
                new BreachRemoveCommand()),
            new CommandGroup(
                "load", "Resume a failed load, and inspect and requeue its slices.", new LoadResumeCommand(), new LoadRequeueCommand(),
                new LoadSlicesCommand()),
            new CommandGroup("catalogue", "Publish the catalogue, from which readers take the breaches.", new CataloguePublishCommand()),
        ]),
        ("Notifications",
        [
            new CommandGroup(
                "subscribers", "Manage subscriptions and suppressed addresses.", new SubscribersAddCommand(),
                new SubscribersRemoveCommand(), new SubscribersForgetCommand(), new SubscribersListCommand(),
                new SubscribersExportCommand(), new SubscribersImportCommand()),
            new CommandGroup(
                "domains", "List the owners of domains, and approve one.", new DomainsListCommand(), new DomainsApproveCommand()),
            new OptOutCommand(),
            new CommandGroup(
                "mail", "Preview and test mails, and hold or release those of a breach.", new MailPreviewCommand(), new MailTestCommand(),
                new MailRefusedCommand(), new MailHoldCommand(), new MailReleaseCommand()),
        ]),
        ("API access",
        [
            new CommandGroup(
                "keys", "Manage API keys, and generate the secrets of the web pages and of links in mails.", new KeysCreateCommand(),
                new KeysListCommand(), new KeysRevokeCommand(), new KeysGenerateCommand()),
            new CommandGroup(
                "clients", "Manage clients that watch hash prefixes and receive callbacks.", new ClientsAddCommand(),
                new ClientsListCommand(), new ClientsRotateCommand(), new ClientsPauseCommand(), new ClientsResumeCommand(),
                new ClientsRemoveCommand()),
            new CommandGroup(
                "callbacks", "List callbacks, and retry or drop those that were abandoned.", new CallbacksListCommand(),
                new CallbacksRetryCommand(), new CallbacksDropCommand()),
            new CommandGroup("access", "Report on the access log.", new AccessUsageCommand()),
        ]),
        ("Storage",
        [
            new CommandGroup(
                "layout", "List, rebuild, switch and drop layouts of the account tables.", new LayoutListCommand(),
                new LayoutRebuildCommand(), new LayoutSwitchCommand(), new LayoutDropCommand()),
            new CommandGroup("ranges", "Fill the tables for lookups by hash prefix.", new RangesFillCommand(), new RangesStatusCommand()),
            new CommandGroup(
                "journal", "Inspect, verify and copy the journal, from which tables are rebuilt.", new JournalListCommand(),
                new JournalWriteCommand(), new JournalVerifyCommand(), new JournalRepairCommand(), new JournalExportCommand(),
                new JournalStatsCommand(), new JournalRewriteCommand()),
            new CommandGroup(
                "database", "Back up, restore, upgrade and purge the SQL database.", new DatabaseBackupCommand(),
                new DatabaseRestoreCommand(), new DatabaseRestoredCommand(), new DatabaseUpgradeCommand(), new DatabasePurgeCommand()),
            new CommandGroup(
                "poison", "List, requeue and purge messages that failed too often.", new PoisonListCommand(), new PoisonRequeueCommand(),
                new PoisonPurgeCommand()),
        ]),
        ("Pwned Passwords",
        [
            new CommandGroup(
                "passwords", "Import, serve and maintain releases of Pwned Passwords.", new PasswordsImportCommand(),
                new PasswordsReplicateCommand(), new PasswordsStatusCommand(), new PasswordsSwitchCommand(), new PasswordsRepackCommand(),
                new PasswordsExportCommand(), new PasswordsDeleteCommand()),
        ]),
        ("Tools",
        [
            new SampleCommand(),
            new CommandGroup("bench", "Measure the speed of a storage account's tables.", new BenchTablesCommand()), new SchemaCommand(),
            new CompletionCommand(),
        ]),
    ];

    private static Command Find(Command root, IEnumerable<string> path) =>
        path.Aggregate(root, (at, name) => at.Subcommands.Single(below => below.Name == name));

    private static Command Respell(string name, string path, Command command)
    {
        var respelled = new Command(name, $"Old spelling of: hibp {path}") { Hidden = true, Action = command.Action };
        foreach (var argument in command.Arguments)
            respelled.Add(argument);
        foreach (var option in command.Options)
            respelled.Add(option);
        respelled.Validators.AddRange(command.Validators);
        foreach (var below in command.Subcommands)
            respelled.Add(Respell(below.Name, $"{path} {below.Name}", below));
        return respelled;
    }

    private sealed class ShowVersion : SynchronousCommandLineAction
    {
        public override int Invoke(ParseResult parseResult)
        {
            parseResult.InvocationConfiguration.Output.WriteLine($"hibp {ProgramVersion.Short}");
            return 0;
        }
    }
}
