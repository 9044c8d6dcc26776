using System.CommandLine.Help;
using System.CommandLine.Invocation;

namespace HibpIngest.Cli.Commands;

/// <summary>All commands, in the order of the help.</summary>
internal static class CommandTree
{
    public static RootCommand Create()
    {
        var root = new RootCommand(
            "Loads breaches: finds the accounts in a dropped file, makes them searchable, and tells the subscribers concerned.")
        {
            CommonOptions.Storage,
            CommonOptions.Database,
            CommonOptions.EmulatorPort,
            CommonOptions.Json,
            CommonOptions.Verbose,
            new DemoCommand(),
            new RunCommand(),
            new ServeCommand(),
            new KeysCommands(),
            new ClientsCommands(),
            new CallbacksCommands(),
            new UsageCommand(),
            new DropCommand(),
            new StatusCommand(),
            new LookupCommand(),
            new BreachesCommand(),
            new BreachCommands(),
            new CatalogueCommands(),
            new SubscribersCommands(),
            new NotifyCommand(),
            new HoldCommand(),
            new MailCommands(),
            new SlicesCommand(),
            new RequeueCommand(),
            new PoisonCommands(),
            new ResumeCommand(),
            new PurgeCommand(),
            new SampleCommand(),
            new RangesCommands(),
            new LayoutsCommand(),
            new RebuildCommand(),
            new SwitchCommand(),
            new LayoutCommands(),
            new JournalCommands(),
            new PasswordsCommands(),
            new DatabaseCommands(),
            new BackupCommand(),
            new RestoreCommand(),
            new DoctorCommand(),
            new CompletionCommand(),
        };
        foreach (var option in root.Options.OfType<VersionOption>())
            option.Action = new ShowVersion();
        foreach (var option in root.Options.OfType<HelpOption>())
        {
            if (option.Action is HelpAction usual)
                option.Action = new TeachingHelp(usual);
        }
        return root;
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
