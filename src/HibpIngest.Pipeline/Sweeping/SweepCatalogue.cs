namespace HibpIngest.Pipeline.Sweeping;

/// <summary>
/// Publishes if a mark is set; without a mark the database isn't queried. A new mark is published for at once, and again each time its
/// age has doubled, because its owner may still be about to make its change. Marks older than <see cref="OldestMark"/> are cleared.
/// Calls must not overlap.
/// </summary>
public sealed class SweepCatalogue(IWorkRegister register, PublishCatalogue catalogue, StoreSetup setup, TimeProvider time)
{
    /// <summary>An older mark has no owner: the longest statement after a mark is set may take 30 minutes, plus its retries.</summary>
    public static readonly TimeSpan OldestMark = TimeSpan.FromHours(2);

    // Marks that a sweep has already published for, with the time of the last one.
    private readonly Dictionary<string, DateTimeOffset> _swept = [];

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var found = await register.ListBehindAsync(cancellationToken);
        foreach (var cleared in _swept.Keys.Except(found.Select(one => one.Mark)).ToList())
            _swept.Remove(cleared);
        var now = time.GetUtcNow();
        if (!found.Any(one => IsForgotten(one.SetAt) || IsDue(one.Mark, one.SetAt)))
            return;
        await setup.EnsureIdsAsync(cancellationToken);
        var change = await catalogue.BeginChangeAsync(cancellationToken);
        if (!await change.TryPublishAsync(cancellationToken))
        {
            // The marks found stay set, so the one added here isn't needed; otherwise each minute would add another.
            await change.AbandonAsync(cancellationToken);
            return;
        }
        foreach (var (mark, setAt) in found)
        {
            _swept[mark] = now;
            if (IsForgotten(setAt))
                await register.ClearBehindAsync(mark, cancellationToken);
        }

        bool IsForgotten(DateTimeOffset setAt) => now - setAt >= OldestMark;

        bool IsDue(string mark, DateTimeOffset setAt) => !_swept.TryGetValue(mark, out var swept) || now - setAt >= 2 * (swept - setAt);
    }
}
