using System.Text;
using HibpIngest.AzureStorage.Tables;
using HibpIngest.Stores;

namespace HibpIngest.Benchmarks;

/// <summary>
/// A simulated table service in virtual time, written to by processes that know nothing of one another, each through the
/// <see cref="WriteThrottle"/> that the pipeline has. It refuses nothing: it only gets slow.
/// </summary>
/// <param name="time">The time.</param>
/// <param name="atOnce">Requests that it works on at once; 1: the emulator, whose others wait in the order they came.</param>
/// <param name="latency">What a request of so many entities takes, at a time, once it is worked on.</param>
internal sealed class BusyService(VirtualTime time, int atOnce, Func<int, TimeSpan, TimeSpan> latency)
{
    // As a mixed load has them: many domains with one account, some with many.
    private static readonly int[] Sizes = [1, 1, 1, 1, 1, 1, 2, 4, 20, 100];

    private readonly Queue<TaskCompletionSource> _waiting = new();
    private int _working;

    /// <summary>After so long nobody waits for the answer any more, and sends again; it is worked on all the same.</summary>
    public TimeSpan Timeout { get; init; } = System.Threading.Timeout.InfiniteTimeSpan;

    /// <summary>Whether a request finds no server at a time.</summary>
    public Func<TimeSpan, bool> IsDown { get; init; } = _ => false;

    /// <summary>Entities that were written, each as often as it was.</summary>
    public long Entities { get; private set; }

    /// <summary>Requests whose answer nobody waited for, or that found no server.</summary>
    public int Lost { get; private set; }

    /// <summary>Writes for as long, with so many in flight at once as there is work for.</summary>
    /// <param name="inFlight">What the slices of the process would have in flight at most.</param>
    /// <param name="limited">Through the throttle; otherwise it is all sent at once.</param>
    public async Task<BusyClient> WriteAsync(int inFlight, TimeSpan until, bool limited = true)
    {
        using var throttle = new WriteThrottle(time);
        var client = new BusyClient();
        var places = new TransactionsInFlight(inFlight, CancellationToken.None);
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
            // As the client libraries do, more or less.
            await time.PauseAsync(TimeSpan.FromSeconds(1));
        }
        client.Answered(time.Elapsed, time.Elapsed - began, entities);
        return null;
    }

    private async Task AnswerAsync(int entities)
    {
        if (_working == atOnce)
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

/// <summary>What one process has seen.</summary>
internal sealed class BusyClient
{
    private readonly List<(TimeSpan At, TimeSpan Latency, int Entities, int InFlight)> _answers = [];
    private int _inFlight;

    public void Sent() => _inFlight++;

    public void Answered(TimeSpan at, TimeSpan latency, int entities) => _answers.Add((at, latency, entities, _inFlight--));

    /// <summary>Entities that it has written since.</summary>
    public long EntitiesSince(TimeSpan since) => _answers.Where(one => one.At >= since).Sum(one => (long)one.Entities);

    /// <summary>What was in flight at most since.</summary>
    public int MostInFlightSince(TimeSpan since) =>
        _answers.Where(one => one.At >= since).Select(one => one.InFlight).DefaultIfEmpty().Max();

    /// <summary>When so many were in flight first.</summary>
    public TimeSpan Reached(int inFlight) => _answers.First(one => one.InFlight >= inFlight).At;

    /// <summary>Of a hundred answers since, 99 came within this time.</summary>
    public TimeSpan SlowSince(TimeSpan since)
    {
        var latencies = _answers.Where(one => one.At >= since).Select(one => one.Latency).Order().ToList();
        return latencies.Count == 0 ? System.Threading.Timeout.InfiniteTimeSpan : latencies[latencies.Count * 99 / 100];
    }
}
