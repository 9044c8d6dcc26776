using HibpIngest.Hosting.Messages;
using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

internal static class HostsView
{
    public const string Ingest = "ingest";
    private const string Notify = "notify";

    public static string Name(Heartbeat host) => string.Create(CultureInfo.InvariantCulture, $"{host.Machine}, process {host.ProcessId}");

    public static string Names(IReadOnlyList<Heartbeat> hosts) => hosts.Count == 1
        ? $"another host ({Name(hosts[0])})" : $"{TableFormat.Number(hosts.Count)} other hosts ({Name(hosts[0])} and others)";

    public static IRenderable Hosts(IReadOnlyList<Heartbeat> hosts, DateTimeOffset now)
    {
        if (hosts.Count == 0)
            return new Text("No host is running on this store. Start one: hibp run\n", new Style(Color.Yellow));
        var showsVersions = hosts.DistinctBy(host => host.Version).Count() > 1;
        var table = TableFormat.Create(["host", "roles", "started", "heartbeat", .. showsVersions ? (string[])["version"] : []]);
        foreach (var host in hosts)
        {
            var cells = new List<IRenderable>
            {
                new Text(Name(host)), new Text(host.Roles), new Text(Recently(host.StartedAt, now)),
                host.IsMissed(now) ? new Text($"{Recently(host.SeenAt, now)} (missed)", new Style(Color.Red))
                    : new Text($"{TableFormat.Duration(LoadFigures.Between(host.SeenAt, host.RequestedAt ?? now))} ago"),
            };
            if (showsVersions)
                cells.Add(new Text(host.Version));
            table.AddRow(cells);
        }
        return table;
    }

    public static IEnumerable<string> HeldByDead(IReadOnlyList<HeldWork> held, IReadOnlyList<Heartbeat> hosts, DateTimeOffset now)
    {
        foreach (var group in held.Where(work => HolderOf(work, hosts)?.IsMissed(now) ?? true)
            .GroupBy(work => (work.Load, work.Breach, Host: HolderOf(work, hosts))))
        {
            var slices = group.Count(work => work.Slice is not null);
            var what = slices == 0 ? "it" : TableFormat.Count(slices, "slice");
            var who = group.Key.Host is { } host ? $"a host with missed heartbeats ({Name(host)})" : "a host with missed heartbeats";
            yield return $"load {group.Key.Load} of {group.Key.Breach}: {what} {(slices > 1 ? "are" : "is")} leased by {who}; the lease "
                + $"expires at {Clock(group.Max(work => work.Until))}";
        }
    }

    // Mails have no holder: live hosts with the notify role count, unless one reports trouble with the load.
    public static bool IsInProgress(Load load, IReadOnlyList<HeldWork> held, IReadOnlyList<Heartbeat> hosts, DateTimeOffset now)
    {
        var alive = hosts.Where(host => !host.IsMissed(now)).ToList();
        return load.State == LoadState.Notifying
            ? alive.Exists(host => host.HasRole(Notify)) && !alive.Exists(host => host.Troubles.Any(task => task.Load == load.Id.Value))
            : held.Any(work => work.Load == load.Id && HolderOf(work, alive) is not null);
    }

    public static IEnumerable<string> Troubles(IReadOnlyList<Heartbeat> hosts, DateTimeOffset now) => hosts
        .Where(host => !host.IsMissed(now)).SelectMany(host => host.Troubles)
        .GroupBy(trouble => (trouble.Load, trouble.What, trouble.Reason)).Select(group =>
            (group.Key.Load > 0 ? $"load {group.Key.Load}, " : "") + $"{group.Key.What}: {group.Key.Reason}; next try "
            + Clock(group.Min(trouble => trouble.NextTry)));

    public static IEnumerable<string> Unserved(IReadOnlyList<QueueDocument> queues, IReadOnlyList<Heartbeat> hosts, DateTimeOffset now)
    {
        foreach (var queue in queues.Where(queue => queue.Messages > 0))
        {
            if (MessageRoutes.FindRole(queue.Name) is { } role && !HasRole(hosts, role, now))
            {
                var waiting = $"{TableFormat.Count(queue.Messages, "message")} {(queue.Messages == 1 ? "waits" : "wait")}";
                yield return $"{queue.Name}: {waiting} for a host with the role '{role}', and no live host has it: hibp run --roles {role}";
            }
        }
    }

    public static string Removing(string breach) => $"removal of {breach}";

    /// <returns>Null if no live process removes the breach; the removal was interrupted.</returns>
    public static Heartbeat? RemoverOf(string breach, IReadOnlyList<Heartbeat> hosts, DateTimeOffset now) =>
        hosts.FirstOrDefault(host => !host.IsMissed(now) && host.Roles == Removing(breach));

    public static bool HasRole(IReadOnlyList<Heartbeat> hosts, string role, DateTimeOffset now) =>
        hosts.Any(host => !host.IsMissed(now) && host.HasRole(role));

    public static string Clock(DateTimeOffset time) => time.ToLocalTime().ToString("HH:mm:ss", CultureInfo.InvariantCulture);

    private static string Recently(DateTimeOffset time, DateTimeOffset now) =>
        now - time < TimeSpan.FromHours(12) ? Clock(time) : TableFormat.Moment(time);

    private static Heartbeat? HolderOf(HeldWork work, IReadOnlyList<Heartbeat> hosts) =>
        hosts.FirstOrDefault(host => work.Owner.StartsWith(host.Host, StringComparison.Ordinal));
}
