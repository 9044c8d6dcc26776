using HibpIngest.Cli.Output;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Tests.Cli;

public sealed class HostsViewTests
{
    private static readonly DateTimeOffset Now = new(2026, 3, 4, 22, 41, 0, TimeSpan.Zero);

    private static readonly Heartbeat Alive = new("aa", "web-1", 11, "ingest, upsert", "1.0", Now.AddHours(-1), Now.AddSeconds(-3), []);

    private static readonly Heartbeat Dead = Alive with { Host = "dd", Machine = "web-2", ProcessId = 22, SeenAt = Now.AddSeconds(-21) };

    [Fact]
    public void Work_held_by_a_dead_host_is_listed_with_its_lease_expiry()
    {
        HeldWork[] held =
        [
            Held(7, 1, "aa-1", 30), Held(7, 2, "dd-1", 20), Held(7, 3, "dd-2", 40), Held(7, 4, "gone-1", 10), Held(8, null, "dd-3", 25),
        ];
        Assert.Equal(
            [
                "load 7 of Adobe: 2 slices are leased by a host with missed heartbeats (web-2, process 22); the lease expires at "
                    + Clock(40),
                $"load 7 of Adobe: 1 slice is leased by a host with missed heartbeats; the lease expires at {Clock(10)}",
                $"load 8 of Adobe: it is leased by a host with missed heartbeats (web-2, process 22); the lease expires at {Clock(25)}",
            ],
            HostsView.HeldByDead(held, [Alive, Dead], Now));
        Assert.True(HostsView.IsInProgress(Of(7, LoadState.Upserting), held, [Alive, Dead], Now));
        Assert.False(HostsView.IsInProgress(Of(8, LoadState.Ingesting), held, [Alive, Dead], Now));
        Assert.False(HostsView.IsInProgress(Of(7, LoadState.Upserting), held, [Dead], Now));
    }

    [Theory]
    [InlineData(0, 20, 0, false)]
    [InlineData(0, 21, 0, true)]
    [InlineData(15, 34, 0, false)] // the rest of the display took 15 s
    [InlineData(15, 36, 0, true)]
    [InlineData(0, 40, 10, false)] // the store takes 10 s per request
    [InlineData(0, 41, 10, true)]
    public void Heartbeat_age_excludes_the_time_the_store_took(int askedBefore, int age, int answeredAfter, bool missed)
    {
        var host = Alive with
        {
            SeenAt = Now.AddSeconds(-age),
            RequestedAt = Now.AddSeconds(-askedBefore),
            ReadLatency = TimeSpan.FromSeconds(answeredAfter),
        };
        Assert.Equal(missed, host.IsMissed(Now));
    }

    [Fact]
    public void Mail_is_in_progress_if_a_live_host_sends_it_without_trouble()
    {
        var load = Of(7, LoadState.Notifying);
        var sends = Alive with { Roles = "sweep, notify" };
        Assert.True(HostsView.IsInProgress(load, [], [sends], Now));
        Assert.True(HostsView.IsInProgress(load, [], [Alive with { Roles = Heartbeat.Everything }], Now));
        Assert.False(HostsView.IsInProgress(load, [], [], Now));
        Assert.False(HostsView.IsInProgress(load, [], [Alive, Dead with { Roles = "notify" }], Now));
        var trouble = new BlockedTask(8, "breach-mail", "the mail server refuses", Now);
        Assert.True(HostsView.IsInProgress(load, [], [sends with { Troubles = [trouble] }], Now));
        Assert.False(HostsView.IsInProgress(load, [], [sends with { Troubles = [trouble with { Load = 7 }] }], Now));
    }

    [Fact]
    public void Trouble_of_several_hosts_is_listed_once_with_the_next_retry()
    {
        var trouble = new BlockedTask(7, "breach-mail", "the mail server refuses", Now.AddSeconds(10));
        var hosts = new[]
        {
            Alive with { Troubles = [trouble with { NextTry = Now.AddSeconds(30) }, new BlockedTask(0, "sweep", "no answer", Now)] },
            Alive with { Host = "bb", Troubles = [trouble] },
            Dead with { Troubles = [trouble with { Reason = "of a dead one" }] },
        };
        Assert.Equal(
            [
                $"load 7, breach-mail: the mail server refuses; next try {Clock(10)}",
                $"sweep: no answer; next try {Clock(0)}",
            ],
            HostsView.Troubles(hosts, Now));
    }

    [Fact]
    public void Queued_work_without_a_live_host_for_its_role_is_reported()
    {
        QueueDocument[] queues = [.. QueueNames.All.Select(queue => new QueueDocument(queue, 1, 0))];
        var roles = string.Join(", ", OperatingRoles());
        Assert.Empty(HostsView.Unserved(queues, [Alive with { Roles = Heartbeat.Everything }], Now));
        Assert.Empty(HostsView.Unserved(queues, [Alive with { Roles = roles }], Now));
        var withoutCalls = Alive with { Roles = "ingest, upsert, notify, journal, sweep, passwords, access" };
        Assert.Equal(
            [
                "breach-calls: 1 message waits for a host with the role 'call', and no live host has it: hibp run --roles call",
                "breach-callbacks: 1 message waits for a host with the role 'call', and no live host has it: hibp run --roles call",
            ],
            HostsView.Unserved(queues, [withoutCalls, Dead with { Roles = Heartbeat.Everything }], Now));
        Assert.Empty(HostsView.Unserved([.. queues.Select(queue => queue with { Messages = 0 })], [], Now));

        var text = StatusSamples.TextOf(new StatusSnapshot([], [new QueueDocument(QueueNames.Calls, 3, 0)], [withoutCalls], [], []), Now);
        Assert.Contains("3 messages wait for a host with the role 'call'", text, StringComparison.Ordinal);
    }

    [Fact]
    public void Documented_roles_for_several_hosts_are_complete()
    {
        var roles = Enum.GetValues<HostRoles>()
            .Where(role => int.IsPow2((int)role) && HostRoles.All.HasFlag(role)).Select(role => role.ToString().ToLowerInvariant());
        Assert.Equal(roles.Order(), OperatingRoles().Order());
    }

    /// <summary>Returns the roles in operating.md, "Several hosts".</summary>
    private static string[] OperatingRoles()
    {
        var text = DocumentFiles.Read("docs/operating.md");
        var section = text[text.IndexOf("## Several hosts", StringComparison.Ordinal)..];
        return Patterns.Find(section, "`(--roles )?(?<found>ingest,[a-z,]+)`").First().Split(',');
    }

    private static HeldWork Held(long load, int? slice, string owner, int seconds) =>
        new(new(load), "Adobe", slice, owner, Now.AddSeconds(seconds));

    private static Load Of(long id, LoadState state) => StatusSamples.NewLoad(id, state, Now);

    private static string Clock(int seconds) => $"{Now.AddSeconds(seconds).ToLocalTime():HH:mm:ss}";
}
