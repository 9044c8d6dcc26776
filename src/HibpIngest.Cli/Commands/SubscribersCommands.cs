using System.CommandLine;
using HibpIngest.Breaches;
using HibpIngest.Cli.Output;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using Spectre.Console;

namespace HibpIngest.Cli.Commands;

internal sealed class SubscribersCommands() : CommandGroup(
    "subscribers", "Import and list who is told about breaches.", new SubscribersImportCommand(), new SubscribersListCommand());

internal sealed class SubscribersImportCommand : HibpCommand
{
    // A transaction's worth.
    private const int ChunkLines = 10_000;

    private readonly Argument<FileInfo> _file = new("CSV")
    {
        Description = "File with the header email,domain. An empty domain subscribes "
        + "the address to itself, a domain subscribes it to that domain."
    };

    public SubscribersImportCommand()
        : base("import", "Add subscriptions from a CSV file. Those that are there already stay as they are.")
    {
        Add(_file.AcceptExistingOnly());
        Examples =
            [("hibp subscribers import samples/subscribers.csv", "lines such as alice@example.com, or admin@example.com,example.com")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenDatabaseAsync(cancellationToken);
        var (read, added) = await ImportAsync(database, session.Parsed.GetRequiredValue(_file).FullName, cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(new ImportDocument(read, added), Documents.Default.ImportDocument);
        else
            session.Screen.Show($"{TableFormat.Number(read)} subscriptions read, {TableFormat.Number(added)} of them new.");
        return 0;
    }

    /// <summary>
    /// Imports a file; the demo does the same. A file with a bad line is refused whole: nothing is imported
    /// before every line has been read.
    /// </summary>
    public static async Task<(int Read, int Added)> ImportAsync(IBreachDatabase database, string path, CancellationToken cancellationToken)
    {
        await using var file = File.OpenRead(path);
        var subscriptions = SubscriberFile.Read(file);
        var added = 0;
        foreach (var chunk in subscriptions.Chunk(ChunkLines))
            added += await database.ImportSubscribersAsync(chunk, cancellationToken);
        return (subscriptions.Count, added);
    }
}

internal sealed class SubscribersListCommand : HibpCommand
{
    public SubscribersListCommand()
        : base("list", "List all subscriptions.")
    {
        Examples = [("hibp subscribers list", "by address")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var subscriptions = await database.ListSubscribersAsync(cancellationToken).ToListAsync(cancellationToken);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new SubscribersDocument([.. subscriptions.Select(one => new SubscriberLine(one.Email, one.Domain))]),
                Documents.Default.SubscribersDocument);
            return 0;
        }
        if (subscriptions.Count == 0)
        {
            session.Screen.Show("There is no subscription yet; hibp subscribers import CSV adds some.");
            return 0;
        }
        Show(session.Screen, subscriptions);
        return 0;
    }

    internal static void Show(Screen screen, IReadOnlyList<Subscription> subscriptions)
    {
        var table = TableFormat.Create("subscriber", "told about");
        foreach (var subscription in subscriptions)
            table.AddRow(
                new Text(subscription.Email), new Text(
                    subscription.Domain is null ? "their own address" : $"domain {subscription.Domain}"));
        screen.Show(table);
    }
}
