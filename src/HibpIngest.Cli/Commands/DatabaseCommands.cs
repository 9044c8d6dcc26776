using HibpIngest.Cli.Output;
using HibpIngest.Hosting;

namespace HibpIngest.Cli.Commands;

/// <summary>hibp database.</summary>
internal sealed class DatabaseCommands() : CommandGroup("database", "Look after the database.", new DatabaseUpgradeCommand());

/// <summary>hibp database upgrade.</summary>
internal sealed class DatabaseUpgradeCommand : HibpCommand
{
    public DatabaseUpgradeCommand()
        : base("upgrade", "Bring the database's schema up to this program's version. A fresh database gets it by itself; make a copy of an old one first.")
    {
        Examples = [("hibp database upgrade", "after a new version of the program was installed")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = DatabaseFactory.Open(session.Settings.Database, session.Time, session.Logs);
        var (from, _) = await database.GetSchemaVersionAsync(cancellationToken);
        await database.UpgradeAsync(cancellationToken);
        var (to, _) = await database.GetSchemaVersionAsync(cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(new UpgradeDocument(database.DisplayName, from, to), Documents.Default.UpgradeDocument);
        else
            session.Screen.Show(from == to ? $"The schema of {database.DisplayName} is at version {to} already." : $"The schema of {database.DisplayName} went from version {from} to {to}.");
        return 0;
    }
}
