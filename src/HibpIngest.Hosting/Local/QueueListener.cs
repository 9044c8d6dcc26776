using HibpIngest.Errors;
using HibpIngest.Messages;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Local;

/// <summary>
/// Takes messages off one queue and has them worked on, by the rules of the Functions host: taken for a time
/// and renewed while the work lasts, deleted when it is done, given back for another try when it failed, moved
/// to <c>{queue}-poison</c> when the tries are used up (to the poison queue first, so that nothing is lost).
/// </summary>
/// <param name="queues">Holds the queue and its poison queue.</param>
/// <param name="work">Returns when the message's work is done; throws when it failed.</param>
/// <param name="time">The clock of pauses and renewals.</param>
/// <param name="log">Ids and counts only.</param>
/// <param name="health">Told of the queue's store.</param>
/// <param name="onFailure">Told of every failed try.</param>
internal sealed partial class QueueListener(
    IMessageQueues queues, string name, Func<string, CancellationToken, Task> work, QueueListenerOptions options, TimeProvider time,
    ILogger log, StoreHealth health, Action<Exception>? onFailure = null)
{
    // Calls made after the stop have to end: a process that is asked to stop has some seconds.
    private static readonly TimeSpan FarewellTimeout = TimeSpan.FromSeconds(5);

    private readonly IMessageQueue _queue = queues.Get(name);
    private readonly IMessageQueue _poison = queues.Get(name + QueueNames.PoisonSuffix);

    /// <summary>
    /// Listens until <paramref name="stop"/>; then waits for the messages in hand, and gives back those that
    /// were not finished.
    /// </summary>
    /// <exception cref="StoreRefusedException">The queue is not there, or refuses this program.</exception>
    public async Task RunAsync(CancellationToken stop)
    {
        var inHand = new List<InHand>();
        using var stopWork = CancellationTokenSource.CreateLinkedTokenSource(stop);
        using var stopReceive = new CancellationTokenSource();
        using var onStop = stop.Register(() => stopReceive.CancelAfter(FarewellTimeout));
        try
        {
            await ListenAsync(inHand, stopWork.Token, stopReceive.Token, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
        }
        finally
        {
            await stopWork.CancelAsync();
            await EndAsync(inHand);
        }
    }

    private async Task ListenAsync(List<InHand> inHand, CancellationToken stopWork, CancellationToken stopReceive, CancellationToken stop)
    {
        var pause = options.MinPause;
        while (true)
        {
            inHand.RemoveAll(message => message.Work.IsCompleted);
            while (inHand.Count > options.NewBatchThreshold)
            {
                await Task.WhenAny(inHand.Select(message => message.Work)).WaitAsync(stop);
                inHand.RemoveAll(message => message.Work.IsCompleted);
            }
            IReadOnlyList<QueuedMessage> received;
            try
            {
                // Not cancelled at once: what the service hands out just then would stay invisible for the whole visibility.
                stop.ThrowIfCancellationRequested();
                received = await _queue.ReceiveAsync(options.BatchSize, options.Visibility, stopReceive);
                health.Up(name);
            }
            catch (StoreUnavailableException e)
            {
                health.Down(name, e, pause);
                received = [];
            }
            foreach (var message in received)
                inHand.Add(Start(message, stopWork));
            if (received.Count > 0)
            {
                pause = options.MinPause;
                continue;
            }
            await Task.Delay(pause, time, stop);
            pause = Longer(pause);
        }
    }

    private TimeSpan Longer(TimeSpan pause) => pause * 2 < options.MaxPause ? pause * 2 : options.MaxPause;

    private InHand Start(QueuedMessage message, CancellationToken stopWork)
    {
        var inHand = new InHand(message);
        inHand.Work = Task.Run(() => WorkAsync(inHand, stopWork), CancellationToken.None);
        return inHand;
    }

    private async Task WorkAsync(InHand message, CancellationToken stopWork)
    {
        try
        {
            var tries = message.Current.DequeueCount;
            if (tries > options.MaxDequeueCount)
            {
                // The last try ended with its process.
                await PoisonAsync(message, CancellationToken.None);
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
                await GiveBackAsync(message);
            }
            else
            {
                LogFailed(
                    name, message.Current.Id, tries, options.MaxDequeueCount, failure is HibpException
                    ? failure.Message : UnexpectedError.Describe(failure));
                onFailure?.Invoke(failure);
                if (tries >= options.MaxDequeueCount)
                    await PoisonAsync(message, CancellationToken.None);
                else
                    await _queue.ExtendAsync(message.Current, options.RetryDelay, CancellationToken.None);
            }
        }
        catch (HibpException e)
        {
            // The queue itself: the message comes back when its visibility ends, and its work may be done twice.
            LogNotSettled(name, message.Current.Id, e.Message);
        }
    }

    /// <summary>
    /// Keeps the message invisible for as long as it is being worked on. A message that is lost is worked on
    /// all the same: doing it twice changes nothing.
    /// </summary>
    private async Task RenewAsync(InHand message, CancellationToken working)
    {
        var pause = options.Visibility / 2;
        while (true)
        {
            await Task.Delay(pause, time, working).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (working.IsCancellationRequested)
                return;
            try
            {
                // Not cancelled: a renewal that the service has made and we have not seen would leave us with a dead receipt.
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
                // Some more attempts fit into what is left of it.
                LogNotRenewed(name, message.Current.Id, e.Message);
                pause = options.Visibility / 20;
            }
        }
    }

    private async Task PoisonAsync(InHand message, CancellationToken cancellationToken)
    {
        await _poison.CreateAsync(cancellationToken);
        await _poison.SendAsync(message.Current.Body, TimeSpan.Zero, cancellationToken);
        await _queue.DeleteAsync(message.Current, cancellationToken);
        LogPoisoned(name, message.Current.Id, message.Current.DequeueCount);
    }

    private async Task GiveBackAsync(InHand message)
    {
        using var timeout = new CancellationTokenSource(FarewellTimeout, time);
        try
        {
            await _queue.ExtendAsync(message.Current, TimeSpan.Zero, timeout.Token);
        }
        catch (OperationCanceledException)
        {
            LogNotSettled(name, message.Current.Id, "the queue did not answer in time");
        }
    }

    private async Task EndAsync(List<InHand> inHand)
    {
        await Task.WhenAny(Task.WhenAll(inHand.Select(message => message.Work)), Task.Delay(options.ShutdownTimeout, time));
        foreach (var message in inHand.Where(message => !message.Work.IsCompleted))
        {
            LogStillAtWork(name, message.Current.Id, options.ShutdownTimeout);
            try
            {
                await GiveBackAsync(message);
            }
            catch (HibpException e)
            {
                LogNotSettled(name, message.Current.Id, e.Message);
            }
        }
        // What a work task throws is a fault of this class: it must be seen.
        foreach (var message in inHand.Where(message => message.Work.IsCompleted))
            await message.Work;
    }

    /// <summary>A message being worked on, with its newest receipt.</summary>
    private sealed class InHand(QueuedMessage message)
    {
        private volatile QueuedMessage _current = message;

        public QueuedMessage Current
        {
            get => _current;
            set => _current = value;
        }

        public Task Work { get; set; } = Task.CompletedTask;
    }
}
