namespace HibpIngest.Passwords.Import.Drops;

/// <summary>Sends the messages of an import, a group each.</summary>
/// <param name="queues">Holds the queue of <see cref="ImportMessage"/> and its poison queue.</param>
public sealed class ImportMessages(IMessageQueues queues)
{
    private const int AtOnce = 16;

    /// <summary>Sends a message for each group; sending one twice changes nothing.</summary>
    internal Task SendAsync(ImportPlan plan, IEnumerable<int> groups, CancellationToken cancellationToken)
    {
        var sending = new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = cancellationToken };
        return Parallel.ForEachAsync(groups, sending, async (group, token) => await queues.SendAsync(
            new ImportMessage(plan.Key.ToString(), plan.Mode, plan.Id, group), TimeSpan.Zero, token));
    }

    /// <summary>
    /// Returns whether both queues are empty: no message is waiting or being processed, and none needs an operator. The service counts
    /// invisible messages too, and never too few.
    /// </summary>
    internal async Task<bool> AreNoneAsync(CancellationToken cancellationToken)
    {
        foreach (var queue in (string[])[QueueNames.PasswordsImport, QueueNames.PasswordsImport + QueueNames.PoisonSuffix])
        {
            if ((await queues.Get(queue).GetDepthAsync(cancellationToken)).Messages > 0)
                return false;
        }
        return true;
    }
}
