namespace HibpIngest.Pipeline.Catalogue;

/// <summary>An operator's changes to a breach. Behind-exceptions mean that the change is made, but not published or journaled.</summary>
public sealed class BreachOperations(ICatalogue catalogue, PublishCatalogue publisher, JournalSchedule journal, JournalChanges changes)
{
    /// <summary>Hides a breach, or shows it again. Returns the breach once readers see the change.</summary>
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

    /// <summary>Merges a document into a breach's metadata; it may clear flags. Returns the breach once readers see the change.</summary>
    public Task<Breach> DescribeAsync(string breach, ReadOnlyMemory<byte> document, CancellationToken cancellationToken) =>
        ChangeAsync(
            breach, name => catalogue.MergeMetadataAsync(name, document, byOperator: true, cancellationToken), "is updated",
            "readers still see the old description", cancellationToken);

    private async Task<Breach> ChangeAsync(
        string breach, Func<string, Task> change, string done, string shown, CancellationToken cancellationToken)
    {
        var found = await catalogue.GetBreachAsync(breach, cancellationToken) ?? throw NoBreach(breach);
        await journal.OpenAsync(found.Name, cancellationToken);
        var marked = await publisher.ChangeAsync(() => change(found.Name), cancellationToken);
        await changes.PublishAsync(marked, found.Name, $"{found.Name} {done}", shown, cancellationToken);
        return await catalogue.GetBreachAsync(found.Name, cancellationToken) ?? throw NoBreach(breach);
    }

    private static NotPossibleException NoBreach(string breach) =>
        new($"there is no breach '{breach}'; see: hibp breach list");
}
