using HibpIngest.Pipeline.Journal;

namespace HibpIngest.Pipeline.Catalogue;

/// <summary>An operator's changes to a breach that readers see.</summary>
public sealed class BreachOperations(ICatalogue catalogue, PublishCatalogue publisher, JournalSchedule log, JournalChanges tell)
{
    /// <summary>Hides a breach, or shows it again. Returns the breach once readers see the change.</summary>
    /// <exception cref="NotPossibleException">There is no such breach.</exception>
    /// <exception cref="CatalogueBehindException">The change is made, but readers don't see it yet.</exception>
    /// <exception cref="JournalBehindException">The change is made, but it isn't in the journal yet.</exception>
    public Task<Breach> SetHiddenAsync(string breach, bool hidden, CancellationToken cancellationToken) =>
        ChangeAsync(
            breach,
            async name =>
            {
                if (!await catalogue.SetHiddenAsync(name, hidden, cancellationToken))
                    throw NoBreach(name);
            },
            hidden ? "is hidden" : "is no longer hidden", hidden ? "readers are still shown it" : "readers aren't shown it",
            cancellationToken);

    /// <summary>
    /// Merges a document into a breach's metadata; it may also clear flags. Returns the breach once readers see the change.
    /// </summary>
    /// <exception cref="NotPossibleException">There is no such breach.</exception>
    /// <exception cref="CatalogueBehindException">The change is made, but readers don't see it yet.</exception>
    /// <exception cref="JournalBehindException">The change is made, but it isn't in the journal yet.</exception>
    public Task<Breach> DescribeAsync(string breach, ReadOnlyMemory<byte> document, CancellationToken cancellationToken) =>
        ChangeAsync(
            breach, name => catalogue.MergeMetadataAsync(name, document, byOperator: true, cancellationToken), "is updated",
            "readers still see the old description", cancellationToken);

    private async Task<Breach> ChangeAsync(
        string breach, Func<string, Task> change, string done, string shown, CancellationToken cancellationToken)
    {
        var found = await catalogue.GetBreachAsync(breach, cancellationToken) ?? throw NoBreach(breach);
        await log.OpenAsync(found.Name, cancellationToken);
        var marked = await publisher.BeginChangeAsync(cancellationToken);
        try
        {
            await change(found.Name);
        }
        catch (HibpException e) when (e is NotPossibleException or BadInputException)
        {
            await marked.AbandonAsync(cancellationToken);
            throw;
        }
        await tell.PublishAsync(marked, found.Name, $"{found.Name} {done}", shown, cancellationToken);
        return await catalogue.GetBreachAsync(found.Name, cancellationToken) ?? throw NoBreach(breach);
    }

    private static NotPossibleException NoBreach(string breach) =>
        new($"there is no breach '{breach}'; hibp breaches lists those there are");
}
