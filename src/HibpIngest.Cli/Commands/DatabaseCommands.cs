using HibpIngest.Cli.Output;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;

namespace HibpIngest.Cli.Commands;

internal sealed class DatabaseCommands()
    : CommandGroup("database", "Look after the database.", new DatabaseUpgradeCommand(), new DatabaseRestoredCommand());

internal sealed class DatabaseUpgradeCommand : HibpCommand
{
    public DatabaseUpgradeCommand()
        : base("upgrade", "Bring the database's schema up to this program's version. A fresh database gets it by itself; make a copy of "
            + "an old one first.")
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
            session.Screen.Show(
                from == to ? $"The schema of {database.DisplayName} is at version {to} already."
                : $"The schema of {database.DisplayName} went from version {from} to {to}.");
        return 0;
    }
}

internal sealed class DatabaseRestoredCommand : HibpCommand
{
    public DatabaseRestoredCommand()
        : base("restored", "Move a database on that was restored from a backup: ids given since are never given again, and zips dropped "
            + "since are loaded again, their mails held.")
    {
        Examples = [("hibp database restored", "with every host stopped; then start them, look at hibp status, and release by hibp notify "
            + "what was not sent before")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var pipeline = await session.OpenStorageAsync(cancellationToken);
        var (moved, loads) = await pipeline.Context.NewMoveOn().RunAsync(cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(
                new RestoredDocument(pipeline.Context.Database.DisplayName, moved.Load, moved.Mark, loads),
                Documents.Default.RestoredDocument);
        else
        {
            session.Screen.Show($"{pipeline.Context.Database.DisplayName} goes on behind load {moved.Load} and mark {moved.Mark}; {loads} "
                + "zips dropped since the backup are loaded again. Mails that were not out at the backup are held: some may have gone out "
                + "since. Breaches that were hidden, described or removed since are as at the backup.");
        }
        return 0;
    }
}
