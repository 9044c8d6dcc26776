using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>Sends the messages of an import, a group each.</summary>
/// <param name="queue">The queue.</param>
/// <param name="poison">Where messages are that have used up their tries.</param>
public sealed class ImportMessages(IMessageQueue queue, IMessageQueue poison)
{
    private const int AtOnce = 16;

    /// <summary>Sends a message for each of these groups; one that is sent twice changes nothing.</summary>
    internal Task SendAsync(ImportPlan plan, IEnumerable<int> groups, CancellationToken cancellationToken)
    {
        var sending = new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = cancellationToken };
        return Parallel.ForEachAsync(groups, sending, async (group, token) => await queue.SendAsync(
            new ImportMessage(plan.Key.ToString(), plan.Mode, plan.Id, group).ToJson(), TimeSpan.Zero, token));
    }

    /// <summary>
    /// Whether no message is under way, and none waits for an operator. The service counts those in hand too, and never too few.
    /// </summary>
    internal async Task<bool> AreNoneAsync(CancellationToken cancellationToken) =>
        (await queue.GetDepthAsync(cancellationToken)).Messages == 0 && (await poison.GetDepthAsync(cancellationToken)).Messages == 0;
}
