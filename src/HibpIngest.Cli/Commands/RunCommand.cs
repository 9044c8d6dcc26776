using System.CommandLine;
using System.CommandLine.Parsing;
using HibpIngest.Cli.Output;
using HibpIngest.Hosting.Local;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Cli.Commands;

internal sealed class RunCommand : HibpCommand
{
    private readonly Option<HostRoles> _roles = new("--roles")
    {
        Description = "What this process does, of ingest, upsert, notify and sweep, with commas between. Default: all of it.",
        HelpName = "ROLES",
        CustomParser = ParseRoles,
        DefaultValueFactory = _ => HostRoles.All,
        AllowMultipleArgumentsPerToken = true,
        Arity = ArgumentArity.OneOrMore,
    };

    public RunCommand()
        : base("run", "Run the pipeline here until Ctrl+C. Any number may run against the same storage and database.")
    {
        Add(_roles);
        Examples =
        [
            ("hibp run", "everything, with the storage emulator when HIBP_STORAGE names nothing else"),
            ("hibp run --roles upsert", "one more process that upserts slices"),
            ("hibp run --verbose", "the same, saying what it does"),
        ];
    }

    protected override bool IsPipeline => true;

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        session.PipelineLevel = LogLevel.Information;
        var settings = session.Settings;
        AzuriteEmulator? emulator = null;
        if (LocalEmulator.IsMeantBy(settings.Storage) && !await LocalEmulator.AnswersAsync(cancellationToken))
        {
            session.Screen.Say($"starting the storage emulator, with its data in {LocalEmulator.DataFolder}");
            emulator = await LocalEmulator.StartAsync(new SayProgress(session.Screen), cancellationToken);
        }
        await using var stopLast = emulator;
        // Refused before it says that it is ready.
        await using var pipeline = await session.OpenAsync(cancellationToken);
        var context = pipeline.Context;
        session.Screen.Say($"storage:  {pipeline.Account.DisplayName}");
        session.Screen.Say($"database: {context.Database.DisplayName}");
        session.Screen.Say($"mails:    {context.Sender.DisplayName}");
        session.Screen.Say("ready; drop a breach with 'hibp drop FILE' in another terminal, stop with Ctrl+C");
        try
        {
            await LocalHost.RunAsync(context, new LocalHostOptions { Roles = session.Parsed.GetValue(_roles) }, cancellationToken);
        }
        finally
        {
            session.Screen.Say("stopped");
        }
        cancellationToken.ThrowIfCancellationRequested();
        return 0;
    }

    private static HostRoles ParseRoles(ArgumentResult result)
    {
        var roles = HostRoles.None;
        foreach (var name in result.Tokens.SelectMany(
            token => token.Value.Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)))
        {
            if (Enum.GetValues<HostRoles>()
                .FirstOrDefault(
                    role => role.ToString().Equals(name, StringComparison.OrdinalIgnoreCase)) is not HostRoles.None and var role)
                roles |= role;
            else
                result.AddError($"'{name}' is no role: ingest, upsert, notify, sweep");
        }
        return roles;
    }
}
