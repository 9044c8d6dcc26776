namespace HibpIngest.Cli.Output;

/// <summary>A line about something that an operator should know, with the command that repairs it if there is one.</summary>
internal sealed record StatusLine(StatusLineKind Kind, string Text);

internal enum StatusLineKind
{
    Note,
    Warning,
    Error,
}

internal static class StatusLines
{
    private const int MaxNotJournaled = 3;

    public static IEnumerable<StatusLine> Of(StatusSnapshot picture, DateTimeOffset now, bool showsJournal)
    {
        var loads = picture.Loads;
        foreach (var blob in picture.Waiting)
        {
            yield return Warning(
                $"{blob.Version.Name}: waiting for a host with the role 'ingest' since {TableFormat.Moment(blob.LastModified)}"
                + (picture.Hosts.Any(host => host.HasRole(HostsView.Ingest) && !host.IsMissed(now))
                    ? "" : ": none is running; start one: hibp run"));
        }
        foreach (var load in loads.Where(load => load.Error is not null))
        {
            yield return LoadFigures.State(load) == "published"
                ? Warning($"load {load.Id} of {load.Breach} is published; writing slices of it again failed, and its accounts stay as they "
                    + $"were (hibp load requeue {load.Breach}): {load.Error}")
                : Error($"load {load.Id} of {load.Breach} failed: {load.Error}");
        }
        foreach (var load in loads.Where(load => load.HeldBecause is not null && load.State != LoadState.Failed))
        {
            // The reason that an assignment clears names its commands.
            var command = HoldReason.AfterAssignment(load.HeldBecause) is null ? "" : $" (hibp mail release {load.Breach})";
            yield return Warning($"load {load.Id} of {load.Breach} waits for approval{command}: {load.HeldBecause}");
        }
        foreach (var load in loads.Where(load => load.Notifications.Failed > 0))
        {
            var mails = $"{TableFormat.Count(load.Notifications.Failed, "mail")} {(load.Notifications.Failed == 1 ? "was" : "were")}";
            yield return Warning($"load {load.Id} of {load.Breach}: {mails} refused; list them: hibp mail refused {load.Breach}");
        }
        foreach (var removal in picture.Removals)
        {
            var progress =
                $"{LoadFigures.Percent(removal.Part)} of the accounts of {TableFormat.Count(removal.Loads.Count, "load")} removed";
            yield return HostsView.RemoverOf(removal.Breach, picture.Hosts, now) is { } remover
                ? Note($"{removal.Breach} is being removed by {HostsView.Name(remover)}: {progress}")
                : Warning($"the removal of {removal.Breach} was interrupted: {progress}; 'hibp breach remove {removal.Breach}' resumes it");
        }
        var ofHosts = HostsView.HeldByDead(picture.Held, picture.Hosts, now).Concat(HostsView.Unserved(picture.Queues, picture.Hosts, now))
            .Concat(HostsView.Troubles(picture.Hosts, now));
        foreach (var line in ofHosts)
            yield return Warning(line);
        foreach (var line in (showsJournal ? NotJournaled(loads) : []).Concat(Calls(loads)))
            yield return line;
    }

    private static StatusLine Note(string text) => new(StatusLineKind.Note, text);

    private static StatusLine Warning(string text) => new(StatusLineKind.Warning, text);

    private static StatusLine Error(string text) => new(StatusLineKind.Error, text);

    private static IEnumerable<StatusLine> NotJournaled(IReadOnlyList<Load> loads)
    {
        var waiting = loads.Where(load => load.AwaitsJournal).ToList();
        foreach (var load in waiting.Where(load => load.JournalError is not null))
            yield return Error($"load {load.Id} of {load.Breach} is not in the journal: {load.JournalError}");
        waiting.RemoveAll(load => load.JournalError is not null);
        // In a store from before the journal existed, no load is in the journal.
        if (waiting.Count > MaxNotJournaled)
        {
            yield return Note($"{TableFormat.Number(waiting.Count)} loads are not in the journal yet; older ones: hibp journal write");
            yield break;
        }
        foreach (var load in waiting)
            yield return Note($"load {load.Id} of {load.Breach} is not in the journal yet");
    }

    private static IEnumerable<StatusLine> Calls(IReadOnlyList<Load> loads)
    {
        foreach (var load in loads)
        {
            if (load is { Calls: { Error: { } error, IsSearched: false } without } && (load.AwaitsCalls || without.IsFailed))
            {
                yield return Error(
                    $"load {load.Id} of {load.Breach}: clients can't be called: {error}"
                    + (without.IsFailed ? $": hibp callbacks retry --breach {load.Breach}" : ""));
            }
            if (load is not { Calls: { } calls } || !(load.AwaitsCalls || calls.Abandoned > 0 || calls.Paused > 0))
                continue;
            var line = calls.IsSearched
                ? $"{TableFormat.Number(calls.Answered)} of {TableFormat.Number(calls.Calls)} calls to clients answered"
                : $"{TableFormat.Number(calls.Answered)} calls to clients answered, of {TableFormat.Number(calls.Calls)} so far";
            if (calls.Paused > 0)
                line += $", {TableFormat.Number(calls.Paused)} wait for paused clients (hibp clients list)";
            if (calls.Abandoned > 0)
                line += $", {TableFormat.Number(calls.Abandoned)} abandoned (hibp callbacks list)";
            line = $"load {load.Id} of {load.Breach}: {line}";
            yield return calls.Abandoned > 0 ? Error(line) : Note(line);
        }
    }
}
