using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Cli.Commands;

internal sealed class LayoutsCommand : HibpCommand
{
    public LayoutsCommand()
        : base("layouts", "Show the layouts that accounts are written in, and which of them is read.")
    {
        Examples =
        [
            ("hibp layouts", "a line each: tables, storage accounts, spread domains, ranges; the one that is read; what is missing"),
            ("hibp layouts --json", "the same for a program: [{\"name\", \"read\", \"missingRows\", ...}]"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var layouts = await services.GetRequiredService<LayoutOperations>().ListAsync(cancellationToken);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson([.. layouts.Select(LayoutDocument.Of)], Documents.Default.LayoutDocumentArray);
            return 0;
        }
        var table = TableFormat.Create("layout", "tables", "storage accounts", "spread", "ranges", "state");
        foreach (var (layout, isRead, missing) in layouts)
        {
            table.AddRow(
                new Text(layout.Name),
                new Text($"{layout.Facts.AccountsTable}, {layout.Facts.RangesTable}"),
                new Text(string.Join(", ", layout.Facts.StorageAccounts)),
                new Text(string.Join(
                    ", ", layout.Facts.SpreadDomains.Select(one => $"{one.Key}={one.Value}").Order(StringComparer.Ordinal))),
                new Text(RangesCommands.Show(layout.Ranges)),
                new Text((isRead ? "read" : "written") + (missing > 0 ? $", {TableFormat.Number(missing)} rows missing" : "")));
        }
        session.Screen.Show(table);
        return 0;
    }
}

internal sealed class SwitchCommand : HibpCommand
{
    private readonly Argument<string> _name = new("NAME") { Description = "The layout." };
    private readonly Option<bool> _withoutRanges = new("--without-ranges")
    {
        Description = "Also where its ranges are not on: they are then answered 503.",
    };

    public SwitchCommand()
        : base(
            "switch",
            "Have another layout read. Refused while that one lacks anything; the layout from before stays written, so that switching "
            + "back is right at any time.")
    {
        Add(_name);
        Add(_withoutRanges);
        Examples =
        [
            ("hibp switch spread", "from now on, and in every reader within a minute"),
            ("hibp switch 1", "back to the layout that a store begins with"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var name = session.Parsed.GetRequiredValue(_name);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var before = await services.GetRequiredService<LayoutOperations>()
            .SwitchAsync(name, session.Parsed.GetValue(_withoutRanges), cancellationToken);
        session.Screen.ShowResult(
            new SwitchDocument(name, before.Name), Documents.Default.SwitchDocument,
            before.Name == name ? $"Layout {name} is read already."
            : $"Layout {name} is read, by every reader within a minute; 'hibp switch {before.Name}' goes back.");
        return 0;
    }
}

internal sealed class LayoutCommands() : CommandGroup("layout", "Look after one of the layouts.", new LayoutDropCommand());

internal sealed class LayoutDropCommand : HibpCommand
{
    private readonly Argument<string> _name = new("NAME") { Description = "The layout." };
    private readonly Confirmation _confirmation = new();

    public LayoutDropCommand()
        : base(
            "drop",
            "Write a layout no more, and delete its tables once nobody uses them: a minute later, or as long as a slice takes. Not the one "
            + "that is read; its name is not used again.")
    {
        Add(_name);
        Add(_confirmation.Yes);
        Examples =
        [
            ("hibp layout drop 1", "after a switch that is not to be taken back; asks first"),
            ("hibp layout drop 1 --yes", "the same in a script"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var name = session.Parsed.GetRequiredValue(_name);
        _confirmation.RequireAnswerable(session.Parsed, "layout drop");
        await using var services = await session.OpenExistingAsync(cancellationToken);
        await _confirmation.AskAsync(session, $"The tables of layout {name} are deleted for good.", name, cancellationToken);
        await services.GetRequiredService<LayoutOperations>().DropAsync(
            name, () => session.Screen.Say("No longer written; waiting until its tables are no longer used."), cancellationToken);
        session.Screen.ShowResult(
            new LayoutDropDocument(name), Documents.Default.LayoutDropDocument,
            $"Layout {name} is gone, and its tables with it.");
        return 0;
    }
}
