namespace HibpIngest.Cli.Output;

/// <summary>Prints a line every 15 s for each load that made progress, until disposal. No open load: no database query.</summary>
internal sealed class LoadLines : IAsyncDisposable
{
    private static readonly TimeSpan LineEvery = TimeSpan.FromSeconds(15);

    private readonly CancellationTokenSource _stop = new();
    private readonly Task _printing;

    public LoadLines(IStoreMarks open, ILoads loads, Screen screen, TimeProvider time, double mailsPerSecond) =>
        _printing = PrintAsync(open, loads, screen, time, mailsPerSecond);

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _printing;
        _stop.Dispose();
    }

    private async Task PrintAsync(IStoreMarks open, ILoads loads, Screen screen, TimeProvider time, double mailsPerSecond)
    {
        var printed = new Dictionary<long, object>();
        try
        {
            while (true)
            {
                await Task.Delay(LineEvery, time, _stop.Token);
                try
                {
                    foreach (var (id, _) in await open.ListOpenAsync(_stop.Token))
                    {
                        if (await loads.GetLoadAsync(id, _stop.Token) is { } load && IsAtWork(load)
                            && !LoadMotion.Of(load).Equals(printed.GetValueOrDefault(id)))
                        {
                            printed[id] = LoadMotion.Of(load);
                            var work = await loads.ListWorkAsync([id], _stop.Token);
                            var figures = LoadFigures.Of(load, work[0], time.GetUtcNow(), mailsPerSecond);
                            screen.Say($"{LoadFigures.Line(load)}, {figures.Times}");
                        }
                    }
                }
                catch (HibpException)
                {
                    // The host reports which store is down.
                }
            }
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
        }
    }

    private static bool IsAtWork(Load load) =>
        load.AwaitsCalls || load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held);
}
