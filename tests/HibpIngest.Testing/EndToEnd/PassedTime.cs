using HibpIngest.Delivery;
using HibpIngest.Passwords.Appends;
using HibpIngest.Pipeline.Sweeping;

namespace HibpIngest.Testing;

/// <summary>Puts the stores into the state minutes after a kill: leases have expired, and Sweep has re-sent lost messages.</summary>
internal sealed class PassedTime(string connection, string databaseFile) : IDisposable
{
    /// <summary>Longer than each age at which Sweep regards a message as lost.</summary>
    private static readonly TimeSpan SweepsAfter = TimeSpan.FromMinutes(25);

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(50);

    private readonly StorageAccount _account = StorageAccount.Open(connection, NullLoggerFactory.Instance);

    /// <summary>Returns the last heartbeat of a process, which sends the first one at its start.</summary>
    public async Task<Heartbeat> FindHeartbeatAsync(int processId)
    {
        while (true)
        {
            var hosts = await _account.Heartbeats.ListHeartbeatsAsync(CancellationToken.None);
            if (hosts.FirstOrDefault(one => one.ProcessId == processId) is { } found)
                return found;
            await Task.Delay(PollInterval);
        }
    }

    public async Task MissHeartbeatAsync(int killed)
    {
        var last = await FindHeartbeatAsync(killed);
        _account.Heartbeats.PutHeartbeat(
            last with { SeenAt = last.SeenAt - (2 * Heartbeat.MissedAfter) }, CancellationToken.None);
    }

    public async Task ExpireLeasesAsync(int killed)
    {
        var host = (await FindHeartbeatAsync(killed)).Host;
        await ExecuteAsync($"UPDATE locks SET expires_at = 0 WHERE owner LIKE '{host}-%'");
        await ExecuteAsync($"UPDATE notifications SET claim_expires_at = 0 WHERE claim_owner LIKE '{host}-%'");
        foreach (var table in (string[])["loads", "slices", "call_clients"])
            await ExecuteAsync($"UPDATE {table} SET lease_expires_at = 0 WHERE owner LIKE '{host}-%'");
    }

    /// <summary>Expires the locks of killed operator commands, which send no heartbeat.</summary>
    public Task ExpireLocksAsync() => ExecuteAsync("UPDATE locks SET expires_at = 0 WHERE name IN ('fill-ranges', 'layouts')");

    /// <summary>Re-sends the messages that Sweep regards as lost by then; messages that weren't lost get a second copy.</summary>
    public async Task SweepAsync()
    {
        var clock = new TestClock();
        clock.Advance(SweepsAfter);
        await using var database = SqliteBreachDatabase.Open(databaseFile, clock);
        await using var sender = NotificationSenders.Create($"pickup:{databaseFile}.mail");
        var parts = PipelineParts.Of(_account, database, sender, new TestOptions(), NullLoggerFactory.Instance) with { Time = clock };
        await parts.Get<Sweep>().RunAsync(CancellationToken.None);
    }

    public Task SweepAppendsAsync()
    {
        var clock = new TestClock();
        clock.Advance(SweepsAfter);
        return new SweepAppends(_account.PasswordAppends, _account.Queues, clock, NullLogger<SweepAppends>.Instance)
            .RunAsync(CancellationToken.None);
    }

    public void Dispose() => _account.Dispose();

    private Task ExecuteAsync(string sql) => PipelineRig.ExecuteAsync(databaseFile, sql);
}
