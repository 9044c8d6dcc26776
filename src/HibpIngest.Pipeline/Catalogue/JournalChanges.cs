using HibpIngest.Pipeline.Journal;

namespace HibpIngest.Pipeline.Catalogue;

/// <summary>
/// Finishes an operator's change of a breach within the command: writes the journal's documents of its loads and publishes the catalogue,
/// so that a database restored from either has the change.
/// </summary>
public sealed class JournalChanges(WriteJournal log, JournalSchedule schedule)
{
    /// <summary>
    /// Writes the documents first, which takes a moment, then publishes. Loads whose segments are not all written yet, which may take
    /// longer, come last.
    /// </summary>
    /// <param name="change">The change of the catalogue, begun before the change in SQL.</param>
    /// <param name="done">The change made: "Adobe is hidden".</param>
    /// <param name="shown">What readers see until the catalogue is published.</param>
    /// <exception cref="CatalogueBehindException">The change is made, but readers don't see it yet.</exception>
    /// <exception cref="JournalBehindException">The change is made and readers see it, but it isn't in the journal yet.</exception>
    public async Task PublishAsync(
        CatalogueChange change, string breach, string done, string shown, CancellationToken cancellationToken)
    {
        var error = await TryTellAsync(breach, withSegments: false, cancellationToken);
        try
        {
            await change.PublishAsync(done, shown, cancellationToken);
        }
        catch (CatalogueBehindException e) when (error is not null)
        {
            throw new CatalogueBehindException($"{e.Message}; {Untold(error)}", error);
        }
        error ??= await TryTellAsync(breach, withSegments: true, cancellationToken);
        if (error is null)
            return;
        await StageRunner.IgnoreUnavailableAsync(() => schedule.SendAsync(breach, cancellationToken));
        throw new JournalBehindException($"{done}, and readers see it, but {Untold(error)}", error);
    }

    private static string Untold(HibpException error) =>
        $"the account log does not tell it yet ({error.Message}): a database that is restored from the log before it does is as it was "
        + "before; a host's next sweep writes it, and so does the same command again";

    private async Task<HibpException?> TryTellAsync(string breach, bool withSegments, CancellationToken cancellationToken)
    {
        try
        {
            await log.TellAsync(breach, withSegments, cancellationToken);
            return null;
        }
        catch (HibpException e)
        {
            return e;
        }
    }
}
