namespace HibpIngest.Pipeline.Sweeping;

/// <summary>
/// Publishes the catalogue while a writer's mark says that it may be stale (<see cref="IWorkRegister.SetStaleMarkAsync"/>): at once, and
/// again each time the age of the mark has doubled, because the writer may not have made its change yet. Clears marks older than
/// <see cref="MaxMarkAge"/> after publishing. Without a mark, the database isn't queried. Calls must not overlap.
/// </summary>
public sealed class SweepCatalogue(IWorkRegister register, PublishCatalogue catalogue, StoreSetup setup, TimeProvider time)
{
    /// <summary>An older mark has no living writer: the longest statement after a mark may take 30 minutes, plus its retries.</summary>
    public static readonly TimeSpan MaxMarkAge = TimeSpan.FromHours(2);

    // Marks that a sweep has already published for, with the time of the last one.
    private readonly Dictionary<string, DateTimeOffset> _swept = [];

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var found = await register.ListStaleMarksAsync(cancellationToken);
        foreach (var cleared in _swept.Keys.Except(found.Select(one => one.Mark)).ToList())
            _swept.Remove(cleared);
        var now = time.GetUtcNow();
        if (!found.Any(one => IsAbandoned(one.SetAt) || IsDue(one.Mark, one.SetAt)))
            return;
        await setup.EnsureIdsAsync(cancellationToken);
        var change = await catalogue.BeginChangeAsync(cancellationToken);
        if (!await change.TryPublishAsync(cancellationToken))
        {
            // The marks that were found stay set. Without this, each failed sweep would add one.
            await change.AbandonAsync(cancellationToken);
            return;
        }
        foreach (var (mark, setAt) in found)
        {
            _swept[mark] = now;
            if (IsAbandoned(setAt))
                await register.ClearStaleMarkAsync(mark, cancellationToken);
        }

        bool IsAbandoned(DateTimeOffset setAt) => now - setAt >= MaxMarkAge;

        bool IsDue(string mark, DateTimeOffset setAt) => !_swept.TryGetValue(mark, out var swept) || now - setAt >= 2 * (swept - setAt);
    }
}
