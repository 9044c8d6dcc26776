using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

internal static class StatusView
{
    private const int BarCells = 10;

    public static IRenderable Create(
        StatusSnapshot picture, DateTimeOffset now, double mailsPerSecond, bool showsJournal, Func<Load, bool> moves, int left = 0)
    {
        var loads = picture.Loads;
        var parts = new List<IRenderable>();
        if (loads.Count == 0)
            parts.Add(new Text("There is no load yet. Start one: hibp drop FILE\n"));
        else
            parts.Add(Loads(picture, now, mailsPerSecond, moves));
        if (left > 0)
            parts.Add(new Text($"{TableFormat.Count(left, "older load")} {(left == 1 ? "is" : "are")} not shown: hibp status --all\n"));
        parts.AddRange(StatusLines.Of(picture, now, showsJournal).Select(line => new Text($"{line.Text}\n", new Style(Colour(line.Kind)))));
        parts.Add(picture.Queues.Count > 0 ? Queues(picture.Queues) : new Text("The queues are empty.\n"));
        parts.Add(HostsView.Hosts(picture.Hosts, now));
        return new Rows(parts);
    }

    private static FittingTable Loads(StatusSnapshot picture, DateTimeOffset now, double mailsPerSecond, Func<Load, bool> moves)
    {
        var table = TableFormat.Create(
            "load", "breach", "state", "searchable", "accounts", "copied/s", "slices", "upserted/s", "mails", "elapsed", "left")
            .AlignRight(0, 4, 5, 6, 7, 8, 9, 10);
        foreach (var load in picture.Loads)
        {
            var figures = picture.FiguresOf(load, now, mailsPerSecond, moves(load));
            table.AddRow(
                new Text(TableFormat.Number(load.Id.Value)),
                new Text(
                    load.Blob.Name.Equals(load.Breach + BreachFiles.Zip, StringComparison.OrdinalIgnoreCase)
                    ? load.Breach : $"{load.Breach} ({load.Blob.Name})"),
                new Text(LoadFigures.State(load), new Style(Colour(load))),
                new Text($"{Bar(figures.Searchable)} {LoadFigures.Percent(figures.Searchable),4}"),
                new Text(TableFormat.Number(load.Accounts)),
                new Text(TableFormat.Rate(figures.RowsPerSecond)),
                new Text(Slices(load), new Style(load.Slices.Failed > 0 ? Color.Red : Color.Default)),
                new Text(TableFormat.Rate(figures.AccountsPerSecond)),
                new Text(
                    load.Notifications.Total == 0
                    ? "" : $"{TableFormat.Number(load.Notifications.Sent)}/{TableFormat.Number(load.Notifications.Total)}"),
                new Text(TableFormat.Duration(figures.Elapsed)),
                new Text(figures.Left is { } left ? TableFormat.Duration(left) : ""));
        }
        return table;
    }

    private static FittingTable Queues(IReadOnlyList<QueueDocument> queues)
    {
        var table = TableFormat.Create("queue", "messages", "poison").AlignRight(1, 2);
        foreach (var queue in queues)
            table.AddRow(
                new Text(queue.Name), new Text(TableFormat.Number(queue.Messages)), new Text(
                    TableFormat.Number(queue.Poison), new Style(queue.Poison > 0 ? Color.Red : Color.Default)));
        return table;
    }

    public static string Slices(Load load) =>
        $"{TableFormat.Number(load.Slices.Done)}/{LoadFigures.Total(load, "~")}"
        + (load.Slices.Failed > 0 ? $", {TableFormat.Number(load.Slices.Failed)} failed" : "");

    private static string Bar(double part)
    {
        var full = (int)Math.Floor(Math.Clamp(part, 0, 1) * BarCells);
        return new string('█', full) + new string('░', BarCells - full);
    }

    private static Color Colour(StatusLineKind kind) => kind switch
    {
        StatusLineKind.Error => Color.Red,
        StatusLineKind.Warning => Color.Yellow,
        _ => Color.Default,
    };

    private static Color Colour(Load load) => load.State switch
    {
        _ when load.Removing => Color.Yellow,
        LoadState.Done => Color.Green,
        LoadState.Failed when LoadFigures.State(load) == "published" => Color.Yellow,
        LoadState.Failed => Color.Red,
        LoadState.Held => Color.Yellow,
        _ => Color.Aqua,
    };
}
