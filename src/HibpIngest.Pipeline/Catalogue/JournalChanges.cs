namespace HibpIngest.Pipeline.Catalogue;

/// <summary>Finishes an operator's change of a breach: writes its loads' journal documents and publishes the catalogue.</summary>
public sealed class JournalChanges(WriteJournal journal, JournalSchedule schedule)
{
    /// <summary>Writes the documents first, which takes a moment, then publishes. Loads with unwritten segments come last.</summary>
    public async Task PublishAsync(
        CatalogueChange change, string breach, string done, string shown, CancellationToken cancellationToken)
    {
        var error = await TryWriteAsync(breach, withSegments: false, cancellationToken);
        try
        {
            await change.PublishAsync(done, shown, cancellationToken);
        }
        catch (CatalogueBehindException e) when (error is not null)
        {
            throw new CatalogueBehindException($"{e.Message}; {NotJournaled(error)}", error);
        }
        error ??= await TryWriteAsync(breach, withSegments: true, cancellationToken);
        if (error is null)
            return;
        await StageRunner.IgnoreUnavailableAsync(() => schedule.SendAsync(breach, cancellationToken));
        throw new JournalBehindException($"{done}, and readers see it, but {NotJournaled(error)}", error);
    }

    private static string NotJournaled(HibpException error) =>
        $"the journal does not have the change yet ({error.Message}): a database restored from the journal before it does lacks the "
        + "change; a host's next sweep writes it; to write it now, run the same command again";

    private async Task<HibpException?> TryWriteAsync(string breach, bool withSegments, CancellationToken cancellationToken)
    {
        try
        {
            await journal.WriteChangeAsync(breach, withSegments, cancellationToken);
            return null;
        }
        catch (HibpException e)
        {
            return e;
        }
    }
}
