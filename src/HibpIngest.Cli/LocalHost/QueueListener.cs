namespace HibpIngest.Cli.LocalHost;

/// <summary>
/// Receives messages from one queue and runs their work, by the rules of the Functions host: a message is hidden and its visibility renewed
/// while the work runs, deleted when it is done, made visible again for a retry when it failed, and moved to <c>{queue}-poison</c> when the
/// attempts are used up (written to the poison queue first, so that nothing is lost).
/// </summary>
internal sealed partial class QueueListener(
    IMessageQueues queues, string name, Func<string, CancellationToken, Task> work, QueueListenerOptions options, TimeProvider time,
    ILogger log, StoreHealth health)
{
    // Calls made after the stop are limited: a process that must stop has only some seconds.
    private static readonly TimeSpan StopTimeout = TimeSpan.FromSeconds(5);

    private readonly IMessageQueue _queue = queues.Get(name);
    private readonly IMessageQueue _poison = queues.Get(name + QueueNames.PoisonSuffix);

    public Action<Exception>? OnFailure { get; init; }

    /// <summary>Listens until the stop; then waits for the messages in progress, and makes unfinished ones visible again.</summary>
    public async Task RunAsync(CancellationToken stop)
    {
        var inProgress = new List<InProgress>();
        using var stopWork = CancellationTokenSource.CreateLinkedTokenSource(stop);
        using var stopReceive = new CancellationTokenSource();
        using var onStop = stop.Register(() => stopReceive.CancelAfter(StopTimeout));
        try
        {
            await ListenAsync(inProgress, stopWork.Token, stopReceive.Token, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
        }
        finally
        {
            await stopWork.CancelAsync();
            await EndAsync(inProgress);
        }
    }

    private async Task ListenAsync(List<InProgress> inProgress, CancellationToken stopWork, CancellationToken stopReceive,
        CancellationToken stop)
    {
        var pause = options.MinPause;
        while (true)
        {
            inProgress.RemoveAll(message => message.Work.IsCompleted);
            while (inProgress.Count > options.NewBatchThreshold)
            {
                await Task.WhenAny(inProgress.Select(message => message.Work)).WaitAsync(stop);
                inProgress.RemoveAll(message => message.Work.IsCompleted);
            }
            IReadOnlyList<QueuedMessage> received;
            try
            {
                // Receiving is not cancelled at once: a message that the service returns at that moment would stay invisible for its full
                // time.
                stop.ThrowIfCancellationRequested();
                received = await _queue.ReceiveAsync(options.BatchSize, options.Visibility, stopReceive);
                health.Up(name);
            }
            catch (UnavailableException e)
            {
                health.Down(name, e, pause);
                received = [];
            }
            foreach (var message in received.Select(message => new InProgress(message)))
            {
                message.Work = Task.Run(() => WorkAsync(message, stopWork), CancellationToken.None);
                inProgress.Add(message);
            }
            if (received.Count > 0)
            {
                pause = options.MinPause;
                continue;
            }
            if (await _queue.WaitForSendAsync(pause, stop))
                pause = options.MinPause;
            else
                pause = pause * 2 < options.MaxPause ? pause * 2 : options.MaxPause;
        }
    }

    private async Task WorkAsync(InProgress message, CancellationToken stopWork)
    {
        try
        {
            var tries = message.Current.DequeueCount;
            if (tries > options.MaxDequeueCount)
            {
                // The last attempt ended with its process.
                await PoisonAsync(message);
                return;
            }
            using var working = new CancellationTokenSource();
            var renewing = RenewAsync(message, working.Token);
            Exception? failure = null;
            try
            {
                await work(message.Current.Body, stopWork);
            }
            catch (Exception e)
            {
                failure = e;
            }
            await working.CancelAsync();
            await renewing;

            if (failure is null)
            {
                await _queue.DeleteAsync(message.Current, CancellationToken.None);
            }
            else if (stopWork.IsCancellationRequested)
            {
                await MakeVisibleAsync(message);
            }
            else
            {
                LogFailed(
                    name, message.Current.Id, tries, options.MaxDequeueCount, failure is HibpException
                    ? failure.Message : UnexpectedError.Describe(failure));
                OnFailure?.Invoke(failure);
                if (tries >= options.MaxDequeueCount)
                    await PoisonAsync(message);
                else
                    await _queue.ExtendAsync(message.Current, options.RetryDelay, CancellationToken.None);
            }
        }
        catch (HibpException e)
        {
            // The queue call failed: the message is redelivered when its visibility ends, and its work may be done twice.
            LogNotSettled(name, message.Current.Id, e.Message);
        }
    }

    // Work on a message that was lost continues: a second run changes nothing.
    private async Task RenewAsync(InProgress message, CancellationToken working)
    {
        var pause = options.Visibility / 2;
        while (true)
        {
            await Task.Delay(pause, time, working).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (working.IsCancellationRequested)
                return;
            try
            {
                // The renewal is not cancelled: if the service renews but the response is lost, the receipt is invalid.
                var renewed = await _queue.ExtendAsync(message.Current, options.Visibility, CancellationToken.None);
                if (renewed is null)
                {
                    LogLost(name, message.Current.Id);
                    return;
                }
                message.Current = renewed;
                pause = options.Visibility / 2;
            }
            catch (HibpException e)
            {
                // Several more attempts fit into the remaining visibility.
                LogNotRenewed(name, message.Current.Id, e.Message);
                pause = options.Visibility / 20;
            }
        }
    }

    private async Task PoisonAsync(InProgress message)
    {
        await _poison.CreateAsync(CancellationToken.None);
        await _poison.SendAsync(message.Current.Body, TimeSpan.Zero, CancellationToken.None);
        await _queue.DeleteAsync(message.Current, CancellationToken.None);
        LogPoisoned(name, message.Current.Id, message.Current.DequeueCount);
    }

    private async Task MakeVisibleAsync(InProgress message)
    {
        using var timeout = new CancellationTokenSource(StopTimeout, time);
        try
        {
            await _queue.ExtendAsync(message.Current, TimeSpan.Zero, timeout.Token);
        }
        catch (OperationCanceledException)
        {
            LogNotSettled(name, message.Current.Id, "the queue did not answer in time");
        }
    }

    private async Task EndAsync(List<InProgress> inProgress)
    {
        await Task.WhenAny(Task.WhenAll(inProgress.Select(message => message.Work)), Task.Delay(options.ShutdownTimeout, time));
        foreach (var message in inProgress.Where(message => !message.Work.IsCompleted))
        {
            LogStillAtWork(name, message.Current.Id, options.ShutdownTimeout);
            try
            {
                await MakeVisibleAsync(message);
            }
            catch (HibpException e)
            {
                LogNotSettled(name, message.Current.Id, e.Message);
            }
        }
        // An exception of a work task is a bug in this class, so it is rethrown.
        foreach (var message in inProgress.Where(message => message.Work.IsCompleted))
            await message.Work;
    }

    [LoggerMessage(
        EventIds.QueueListenerFailed, LogLevel.Warning, "{Queue}: message {Message} failed (attempt {Attempt} of {Tries}): {Reason}")]
    private partial void LogFailed(string queue, string message, long attempt, int tries, string reason);

    [LoggerMessage(
        EventIds.QueueListenerPoisoned, LogLevel.Error,
        "{Queue}: message {Message} moved to {Queue}-poison after {Tries} attempts; see: hibp poison list {Queue}")]
    private partial void LogPoisoned(string queue, string message, long tries);

    [LoggerMessage(
        EventIds.QueueListenerLost, LogLevel.Warning,
        "{Queue}: message {Message} redelivered while its work was running; the work continues and may run twice")]
    private partial void LogLost(string queue, string message);

    [LoggerMessage(
        EventIds.QueueListenerNotRenewed, LogLevel.Warning, "{Queue}: message {Message} visibility not renewed, retrying: {Reason}")]
    private partial void LogNotRenewed(string queue, string message, string reason);

    [LoggerMessage(
        EventIds.QueueListenerNotSettled, LogLevel.Warning,
        "{Queue}: message {Message} result not recorded in the queue, it will be redelivered: {Reason}")]
    private partial void LogNotSettled(string queue, string message, string reason);

    [LoggerMessage(
        EventIds.QueueListenerStillAtWork, LogLevel.Warning,
        "{Queue}: message {Message} still running {Timeout} after the stop; made visible again for redelivery")]
    private partial void LogStillAtWork(string queue, string message, TimeSpan timeout);

    private sealed class InProgress(QueuedMessage message)
    {
        public volatile QueuedMessage Current = message;

        public Task Work { get; set; } = Task.CompletedTask;
    }
}
