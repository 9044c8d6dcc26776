using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Integration.Tests.AzureStorage;

/// <summary>
/// A simulated table service in virtual time, written to by independent processes, each through the pipeline's <see
/// cref="WriteThrottle"/>. It refuses nothing, and only slows down.
/// </summary>
/// <param name="time">The clock.</param>
/// <param name="maxConcurrency">Requests processed at once; 1 simulates the emulator, which queues the others in order of
/// arrival.</param>
/// <param name="latency">The processing time of a request with this many entities at this time.</param>
internal sealed class BusyService(VirtualTime time, int maxConcurrency, Func<int, TimeSpan, TimeSpan> latency)
{
    // As in a mixed load: many domains with one account, some with many.
    private static readonly int[] Sizes = [1, 1, 1, 1, 1, 1, 2, 4, 20, 100];

    private readonly Queue<TaskCompletionSource> _waiting = new();
    private int _working;

    /// <summary>The client's timeout, after which it sends the request again; the service processes both.</summary>
    public TimeSpan Timeout { get; init; } = System.Threading.Timeout.InfiniteTimeSpan;

    /// <summary>True if the server is unavailable at this time.</summary>
    public Func<TimeSpan, bool> IsDown { get; init; } = _ => false;

    /// <summary>Entities written, counting repeats.</summary>
    public long Entities { get; private set; }

    /// <summary>Requests that timed out or found no server.</summary>
    public int Lost { get; private set; }

    /// <summary>Writes until this time.</summary>
    /// <param name="inFlight">The most that the process's slices would have in flight.</param>
    /// <param name="limited">Uses the throttle; otherwise everything is sent at once.</param>
    public async Task<BusyClient> WriteAsync(int inFlight, TimeSpan until, bool limited = true)
    {
        using var throttle = new WriteThrottle(time);
        var client = new BusyClient();
        var places = new TransactionsInFlight(inFlight, None);
        var number = 0;
        await Task.WhenAll(Enumerable.Range(0, inFlight).Select(async _ =>
        {
            while (time.Elapsed < until)
            {
                var entities = Sizes[++number % Sizes.Length];
                var partition = Encoding.ASCII.GetBytes($"d{number % 300}.example.org");
                await places.EnterAsync();
                if (limited)
                    await throttle.SendAsync("accounts", partition, entities, places, () => SendAsync(client, entities, until, throttle));
                else
                    await SendAsync(client, entities, until, null);
                places.Leave();
            }
        }));
        return client;
    }

    private async Task<WriteRefusal?> SendAsync(BusyClient client, int entities, TimeSpan until, WriteThrottle? throttle)
    {
        client.Sent();
        var began = time.Elapsed;
        while (true)
        {
            var sentAt = time.GetTimestamp();
            if (!IsDown(time.Elapsed))
            {
                var answered = AnswerAsync(entities);
                if (Timeout == System.Threading.Timeout.InfiniteTimeSpan
                    || await Task.WhenAny(answered, time.PauseAsync(Timeout)) == answered)
                {
                    await answered;
                    break;
                }
            }
            Lost++;
            throttle?.Lost(sentAt);
            if (time.Elapsed >= until)
                return null;
            // Roughly as the client libraries do.
            await time.PauseAsync(TimeSpan.FromSeconds(1));
        }
        client.Answered(time.Elapsed, time.Elapsed - began, entities);
        return null;
    }

    private async Task AnswerAsync(int entities)
    {
        if (_working == maxConcurrency)
        {
            var turn = new TaskCompletionSource();
            _waiting.Enqueue(turn);
            await turn.Task;
        }
        else
            _working++;
        await time.PauseAsync(latency(entities, time.Elapsed));
        Entities += entities;
        if (_waiting.TryDequeue(out var next))
            next.SetResult();
        else
            _working--;
    }
}

/// <summary>One process's measurements.</summary>
internal sealed class BusyClient
{
    private readonly List<(TimeSpan At, TimeSpan Latency, int Entities, int InFlight)> _answers = [];
    private int _inFlight;

    public void Sent() => _inFlight++;

    public void Answered(TimeSpan at, TimeSpan latency, int entities) => _answers.Add((at, latency, entities, _inFlight--));

    /// <summary>Entities written since then.</summary>
    public long EntitiesSince(TimeSpan since) => _answers.Where(one => one.At >= since).Sum(one => (long)one.Entities);

    /// <summary>The most in flight since then.</summary>
    public int MaxInFlightSince(TimeSpan since) =>
        _answers.Where(one => one.At >= since).Select(one => one.InFlight).DefaultIfEmpty().Max();

    /// <summary>When this many were first in flight.</summary>
    public TimeSpan Reached(int inFlight) => _answers.First(one => one.InFlight >= inFlight).At;

    /// <summary>The 99th percentile of response times since then.</summary>
    public TimeSpan SlowSince(TimeSpan since)
    {
        var latencies = _answers.Where(one => one.At >= since).Select(one => one.Latency).Order().ToList();
        return latencies.Count == 0 ? System.Threading.Timeout.InfiniteTimeSpan : latencies[latencies.Count * 99 / 100];
    }
}
