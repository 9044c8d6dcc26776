namespace HibpIngest.Cli.Emulator;

/// <summary>Restarts emulators that end, on their data, until disposal. One of another process at the same ports is left alone.</summary>
internal sealed class EmulatorSupervisor(LocalEmulator emulator, IProgress<string> progress, TimeProvider time) : IAsyncDisposable
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan MaxPause = TimeSpan.FromSeconds(30);

    // Interval for checking an emulator that another process has started at the same ports.
    private static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(5);

    // After this uptime the start counts as successful, and the pause is reset.
    private static readonly TimeSpan SteadyAfter = TimeSpan.FromMinutes(1);

    private readonly CancellationTokenSource _stop = new();
    private readonly List<Task> _watching = [];

    // By these locks other processes know that an emulator will be restarted, and wait for it.
    private readonly List<IDisposable> _holds = [];

    public bool HasStarted => _watching.Count > 0;

    public async Task StartAsync(int count, CancellationToken cancellationToken)
    {
        for (var number = 1; number <= count; number++)
        {
            if (await emulator.WaitForStateAsync(progress, cancellationToken, number) is not EmulatorState.Stopped and var state)
            {
                if (state == EmulatorState.Busy)
                    progress.Report(emulator.BusyMessage);
                continue;
            }
            if (emulator.TryHold(number) is { } hold)
                _holds.Add(hold);
            progress.Report($"starting the storage emulator, with its data in {emulator.DataFolderOf(number)}");
            var started = await StartOneAsync(number, cancellationToken);
            progress.Report($"the storage emulator runs (pid {started.ProcessId})");
            _watching.Add(WatchAsync(started, number));
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAll(_watching);
        _holds.ForEach(hold => hold.Dispose());
        _stop.Dispose();
    }

    private Task<AzuriteEmulator> StartOneAsync(int number, CancellationToken cancellationToken) => AzuriteEmulator.StartAsync(
        new AzuriteOptions
        {
            DataFolder = emulator.DataFolderOf(number),
            BlobPort = emulator.PortOf(number),
            QueuePort = emulator.PortOf(number) + 1,
            TablePort = emulator.PortOf(number) + 2,
            Progress = progress,
        },
        cancellationToken);

    private async Task WatchAsync(AzuriteEmulator started, int number)
    {
        var pause = FirstPause;
        var running = started;
        try
        {
            while (true)
            {
                var startedAt = time.GetTimestamp();
                var ended = await running.Ended.WaitAsync(_stop.Token);
                if (time.GetElapsedTime(startedAt) > SteadyAfter)
                    pause = FirstPause;
                progress.Report(
                    $"the storage emulator (pid {running.ProcessId}) {ended}; starting it again. What was written in its last seconds may "
                    + "be lost: if accounts were being upserted, run: hibp load requeue BREACH --all");
                await running.DisposeAsync();
                (running, pause) = await StartAgainAsync(number, pause);
            }
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
        }
        finally
        {
            await running.DisposeAsync();
        }
    }

    private async Task<(AzuriteEmulator Running, TimeSpan Pause)> StartAgainAsync(int number, TimeSpan pause)
    {
        var isForeign = false;
        while (true)
        {
            await Task.Delay(isForeign ? PollInterval : pause, time, _stop.Token);
            try
            {
                if (await emulator.FindStateAsync(_stop.Token, number) != EmulatorState.Stopped)
                {
                    // A command's emulator (hibp database backup, for one) ends with the command.
                    if (!isForeign)
                        progress.Report("another process has started the storage emulator: it is used until that process stops it");
                    isForeign = true;
                    continue;
                }
                isForeign = false;
                pause = pause * 2 < MaxPause ? pause * 2 : MaxPause;
                var running = await StartOneAsync(number, _stop.Token);
                progress.Report($"the storage emulator runs again (pid {running.ProcessId})");
                return (running, pause);
            }
            catch (Exception e) when (e is not OperationCanceledException)
            {
                // Catches any failure, such as exhausted file handles: no other process retries.
                isForeign = false;
                progress.Report($"{(e is HibpException ? e.Message : UnexpectedError.Describe(e))}; next try in {pause.TotalSeconds:0} s");
            }
        }
    }
}
