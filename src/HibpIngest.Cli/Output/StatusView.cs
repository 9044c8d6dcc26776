using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

internal static class StatusView
{
    private const int BarCells = 10;
    private const int MaxUnlogged = 3;

    public static IRenderable Create(
        StatusPicture picture, DateTimeOffset now, double mailsPerSecond, bool showsLog, Func<Load, bool> moves, int left = 0)
    {
        var loads = picture.Loads;
        var parts = new List<IRenderable>();
        if (loads.Count == 0)
            parts.Add(new Text("There is no load yet; hibp drop FILE makes one.\n"));
        else
            parts.Add(Loads(picture, now, mailsPerSecond, moves));
        if (left > 0)
            parts.Add(new Text($"{Count(left, "older load")} not shown: hibp status --all\n"));
        foreach (var blob in picture.Waiting)
        {
            parts.Add(Warning(
                $"{blob.Version.Name} waits for a host that ingests, since {TableFormat.Moment(blob.LastModified)}"
                + (picture.Hosts.Any(host => host.Does(HostsView.Ingest) && !host.IsMissed(now)) ? "" : ": none is at work (hibp run)")));
        }
        foreach (var load in loads.Where(load => load.Error is not null))
        {
            parts.Add(LoadFigures.State(load) == "published"
                ? Warning($"load {load.Id} of {load.Breach} is published; writing slices of it again failed, and its accounts stay as they "
                    + $"were (hibp load requeue {load.Breach}): {load.Error}")
                : new Text($"load {load.Id} of {load.Breach} failed: {load.Error}\n", new Style(Color.Red)));
        }
        foreach (var load in loads.Where(load => load.HeldBecause is not null && load.State != LoadState.Failed))
            parts.Add(Warning($"load {load.Id} of {load.Breach} is held: {load.HeldBecause}"));
        foreach (var load in loads.Where(load => load.Notifications.Failed > 0))
        {
            parts.Add(Warning($"load {load.Id} of {load.Breach}: {Count(load.Notifications.Failed, "mail")} refused: "
                + $"hibp mail refused {load.Breach}"));
        }
        foreach (var removal in picture.Removals)
        {
            var far = $"{LoadFigures.Percent(removal.Part)} of the accounts of {TableFormat.Count(removal.Loads.Count, "load")} are done";
            parts.Add(HostsView.RemoverOf(removal.Breach, picture.Hosts, now) is { } remover
                ? new Text($"{removal.Breach} is being removed by {HostsView.Name(remover)}: {far}\n")
                : Warning($"the removal of {removal.Breach} was interrupted: {far}; 'hibp breach remove {removal.Breach}' resumes it"));
        }
        parts.AddRange(HostsView.HeldByDead(picture.Held, picture.Hosts, now).Select(Warning));
        parts.AddRange(HostsView.Unserved(picture.Queues, picture.Hosts, now).Select(Warning));
        parts.AddRange(HostsView.Troubles(picture.Hosts, now).Select(Warning));
        if (showsLog)
            parts.AddRange(Unlogged(loads));
        parts.AddRange(Calls(loads));
        parts.Add(picture.Queues.Count > 0 ? Queues(picture.Queues) : new Text("The queues are empty.\n"));
        parts.Add(HostsView.Hosts(picture.Hosts, now));
        return new Rows(parts);
    }

    private static Text Warning(string line) => new(line + "\n", new Style(Color.Yellow));

    private static IEnumerable<IRenderable> Unlogged(IReadOnlyList<Load> loads)
    {
        var waiting = loads.Where(load => load.WaitsForLog).ToList();
        foreach (var load in waiting.Where(load => load.LogError is not null))
            yield return new Text($"load {load.Id} of {load.Breach} is not logged: {load.LogError}\n", new Style(Color.Red));
        waiting.RemoveAll(load => load.LogError is not null);
        // In a store from before the account log existed, no load is logged.
        if (waiting.Count > MaxUnlogged)
        {
            yield return new Text($"{TableFormat.Number(waiting.Count)} loads are not logged yet; those from before: hibp journal write\n");
            yield break;
        }
        foreach (var load in waiting)
            yield return new Text($"load {load.Id} of {load.Breach} is not logged yet\n");
    }

    private static IEnumerable<IRenderable> Calls(IReadOnlyList<Load> loads)
    {
        foreach (var load in loads)
        {
            if (load is { Calls: { Error: { } error, IsLookedThrough: false } without } && (load.AwaitsCalls || without.IsFailed))
            {
                yield return new Text(
                    $"load {load.Id} of {load.Breach}: clients can't be called: {error}"
                    + $"{(without.IsFailed ? $": hibp callbacks retry --breach {load.Breach}" : "")}\n", new Style(Color.Red));
            }
            if (load is not { Calls: { } calls } || !(load.AwaitsCalls || calls.Dead > 0 || calls.Paused > 0))
                continue;
            var line = calls.IsLookedThrough
                ? $"{TableFormat.Number(calls.Answered)} of {TableFormat.Number(calls.Calls)} calls to clients answered"
                : $"{TableFormat.Number(calls.Answered)} calls to clients answered, of {TableFormat.Number(calls.Calls)} so far";
            if (calls.Paused > 0)
                line += $", {TableFormat.Number(calls.Paused)} wait for paused clients (hibp clients list)";
            if (calls.Dead > 0)
                line += $", {TableFormat.Number(calls.Dead)} given up (hibp callbacks list)";
            yield return new Text(
                $"load {load.Id} of {load.Breach}: {line}\n", new Style(calls.Dead > 0 ? Color.Red : Color.Default));
        }
    }

    private static string Count(int count, string what) =>
        $"{TableFormat.Count(count, what)} {(count == 1 ? "is" : "are")}";

    private static FittingTable Loads(StatusPicture picture, DateTimeOffset now, double mailsPerSecond, Func<Load, bool> moves)
    {
        var table = TableFormat.Create(
            "load", "breach", "state", "searchable", "accounts", "rows/s", "slices", "accounts/s", "mails", "elapsed", "left")
            .AlignRight(0, 4, 5, 6, 7, 8, 9, 10);
        foreach (var load in picture.Loads)
        {
            var figures = picture.FiguresOf(load, now, mailsPerSecond, moves(load));
            table.AddRow(
                new Text(TableFormat.Number(load.Id)),
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

    private static string Slices(Load load) =>
        $"{TableFormat.Number(load.Slices.Done)}/{LoadFigures.Total(load, "~")}"
        + (load.Slices.Failed > 0 ? $", {TableFormat.Number(load.Slices.Failed)} failed" : "");

    private static string Bar(double part)
    {
        var full = (int)Math.Floor(Math.Clamp(part, 0, 1) * BarCells);
        return new string('█', full) + new string('░', BarCells - full);
    }

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
