namespace HibpIngest.Pipeline.Catalogue;

/// <summary>
/// A change that readers see. It is marked in the register before anything else is done; from then on every sweep publishes the
/// catalogue until the mark is cleared.
/// </summary>
public sealed class CatalogueChange
{
    private readonly PublishCatalogue _publisher;
    private readonly IStoreMarks _marks;
    private readonly string _mark;

    internal CatalogueChange(PublishCatalogue publisher, IStoreMarks marks, string mark) =>
        (_publisher, _marks, _mark) = (publisher, marks, mark);

    /// <summary>Publishes the change and clears the mark.</summary>
    /// <exception cref="HibpException">A store is unavailable or refuses the request; the mark stays.</exception>
    public async Task<PublishedCatalogue> PublishAsync(CancellationToken cancellationToken)
    {
        var published = await _publisher.WriteAsync(cancellationToken);
        await _marks.ClearBehindAsync(_mark, cancellationToken);
        return published;
    }

    /// <summary>
    /// Publishes the change for work that doesn't depend on it: a failure is logged and left to the next sweep.
    /// </summary>
    /// <returns>The failure; null: the change is published.</returns>
    public async Task<HibpException?> TryPublishAsync(CancellationToken cancellationToken)
    {
        try
        {
            await PublishAsync(cancellationToken);
            return null;
        }
        catch (HibpException e)
        {
            _publisher.LogBehind(e.Message);
            return e;
        }
    }

    /// <summary>Publishes the change for an operator; the error says what readers see until publishing succeeds.</summary>
    /// <param name="done">The change made: "Adobe is hidden".</param>
    /// <param name="shown">What readers see until it is published.</param>
    /// <exception cref="CatalogueBehindException">A store is unavailable or refuses the request.</exception>
    public async Task PublishAsync(string done, string shown, CancellationToken cancellationToken)
    {
        try
        {
            await PublishAsync(cancellationToken);
        }
        catch (HibpException e)
        {
            throw new CatalogueBehindException(
                $"{done}, but the catalogue could not be published ({e.Message}): {shown} until it is; a host's next sweep tries again, "
                + "and so does: hibp catalogue publish", e);
        }
    }

    /// <summary>Clears the mark without publishing, because nothing was changed.</summary>
    public Task AbandonAsync(CancellationToken cancellationToken) => _marks.ClearBehindAsync(_mark, cancellationToken);
}
