using System.Runtime.CompilerServices;
using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Pipeline.Mail;

public sealed class MailOperations(
    IBreachDatabase database, IWorkRegister register, BreachLoads breachLoads, MailSchedule mails, CallSchedule calls, LoadReports reports,
    PipelineMessages messages)
{
    /// <summary>Releases a breach's held and unpublished loads, and sends mail messages again. Returns the open notifications.</summary>
    /// <exception cref="NotPossibleException">There is no such breach, none of its loads is held, or it is retired or hidden.</exception>
    public async Task<int> NotifyAsync(string breach, CancellationToken cancellationToken)
    {
        var found = await breachLoads.GetBreachAsync(breach, cancellationToken);
        if (found.Hidden)
            throw new NotPossibleException(
                $"{found.Name} is hidden, and sends nothing while it is; hibp breach unhide {found.Name}, then notify");
        var sent = 0;
        foreach (var load in await ListWaitingAsync(found, load => load.State is LoadState.Held or LoadState.Notifying, cancellationToken))
        {
            await register.MarkOpenAsync(load.Id, cancellationToken);
            sent += load.Notifications.Open;
            if (await database.ReleaseUnpublishedAsync(load.Id, cancellationToken))
            {
                await register.MarkOpenAsync(load.Id, cancellationToken);
                await messages.SendLoadMessageAsync(new MatchMessage { Load = load.Id.Value }, TimeSpan.Zero, cancellationToken);
                continue;
            }
            await database.ReleaseLoadNotificationsAsync(load.Id, cancellationToken);
            await register.MarkOpenAsync(load.Id, cancellationToken);
            await mails.ContinueAsync(load.Id, TimeSpan.Zero, cancellationToken);
            await calls.LookThroughAsync(load.Id, cancellationToken);
        }
        return sent;
    }

    /// <summary>
    /// Stops the mails of a breach, except one being sent; holds unmatched loads, too. Returns the waiting notifications.
    /// </summary>
    /// <exception cref="NotPossibleException">There is no such breach, or all of its loads are done.</exception>
    public async Task<int> HoldAsync(string breach, CancellationToken cancellationToken)
    {
        var found = await breachLoads.GetBreachAsync(breach, cancellationToken);
        var held = await database.HoldLoadsAsync(
            found.Name, "held by an operator (hibp mail hold): hibp mail release sends its mails", cancellationToken);
        var all = await breachLoads.ListAsync(breach, cancellationToken);
        if (all.All(load => load.State == LoadState.Done))
            throw new NotPossibleException($"all loads of {found.Name} are done: there is nothing left to hold");
        foreach (var load in all.Where(load => held.Contains(load.Id)))
            reports.Report(load);
        return all.Where(load => held.Contains(load.Id)).Sum(load => load.Notifications.Open);
    }

    public async IAsyncEnumerable<Notification> PreviewAsync(string breach, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        const int Page = 1_000;
        foreach (var load in await ListWaitingAsync(
            await breachLoads.GetBreachAsync(breach, cancellationToken), load => load.State == LoadState.Held, cancellationToken))
        {
            var last = (await database.GetMailProgressAsync(load.Id, cancellationToken))?.Last ?? 0;
            for (var first = 1; first <= last; first += Page)
            {
                foreach (var notification in
                    await database.ListNotificationsAsync(load.Id, first, first + Page - 1, cancellationToken))
                {
                    if (notification.IsOpen)
                        yield return notification;
                }
            }
        }
    }

    private async Task<IReadOnlyList<Load>> ListWaitingAsync(Breach breach, Func<Load, bool> waits, CancellationToken cancellationToken)
    {
        if (breach.Metadata.Flags.HasFlag(BreachFlags.Retired))
        {
            throw new NotPossibleException($"breach {breach.Name} is retired and sends no mails; to send them, run: hibp breach set "
                + $"{breach.Name} --retired false");
        }
        var waiting = (await breachLoads.ListAsync(breach.Name, cancellationToken)).Where(waits).ToList();
        return waiting.Count > 0
            ? waiting : throw new NotPossibleException($"no load of {breach.Name} is held; see: hibp status {breach.Name}");
    }
}
