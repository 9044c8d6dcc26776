namespace HibpIngest.Passwords.Import.Drops;

/// <summary>Sends the messages of an import, one for each group.</summary>
public sealed class ImportMessages(IMessageQueues queues)
{
    private const int MaxConcurrency = 16;

    internal Task SendAsync(ImportPlan plan, IEnumerable<int> groups, CancellationToken cancellationToken)
    {
        var sending = new ParallelOptions { MaxDegreeOfParallelism = MaxConcurrency, CancellationToken = cancellationToken };
        return Parallel.ForEachAsync(groups, sending, async (group, token) => await queues.SendAsync(
            new ImportMessage(plan.Key.ToString(), plan.Mode, plan.Id, group), TimeSpan.Zero, token));
    }

    /// <summary>Returns whether both queues are empty; the service counts invisible messages too, and never too few.</summary>
    internal async Task<bool> AreQueuesEmptyAsync(CancellationToken cancellationToken)
    {
        foreach (var queue in (string[])[QueueNames.PasswordsImport, QueueNames.PasswordsImport + QueueNames.PoisonSuffix])
        {
            if ((await queues.Get(queue).GetDepthAsync(cancellationToken)).Messages > 0)
                return false;
        }
        return true;
    }
}

/// <summary>A group of a dropped file to import.</summary>
/// <param name="Release">A <see cref="ReleaseKey"/>.</param>
/// <param name="Plan">The plan that it belongs to; nothing is done once the file has another one.</param>
[Queue(QueueNames.PasswordsImport)]
public sealed record ImportMessage(string Release, HashMode Mode, string Plan, int Group) : WorkMessage
{
    protected override bool IsComplete() => Release is not null && Plan is not null && Group is >= 0 and < PasswordNames.Groups;
}
