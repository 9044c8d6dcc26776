using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// A change of what readers see, marked in the register before anything else is done: from then on every sweep sees to
/// the catalogue until the change has been published.
/// </summary>
public sealed class CatalogueChange
{
    private readonly PublishCatalogue _publisher;
    private readonly ICatalogueMarks _marks;
    private readonly string _mark;

    internal CatalogueChange(PublishCatalogue publisher, ICatalogueMarks marks, string mark) =>
        (_publisher, _marks, _mark) = (publisher, marks, mark);

    /// <summary>Publishes what has been changed, and takes the mark back.</summary>
    /// <exception cref="HibpException">A store is down, or refuses; the mark stays.</exception>
    public async Task<PublishedCatalogue> PublishAsync(CancellationToken cancellationToken)
    {
        var published = await _publisher.WriteAsync(cancellationToken);
        await _marks.ClearBehindAsync(_mark, cancellationToken);
        return published;
    }

    /// <summary>
    /// The same for work that is done whether or not readers see it yet: a failure is logged, and left to the next sweep.
    /// </summary>
    /// <returns>Why it failed; null: it is published.</returns>
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

    /// <summary>The same for an operator, who is told what readers see as long as it fails.</summary>
    /// <param name="done">What has been changed: "Adobe is hidden".</param>
    /// <param name="shown">What readers see until then.</param>
    /// <exception cref="CatalogueBehindException">A store is down, or refuses.</exception>
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

    /// <summary>Nothing was changed: takes the mark back.</summary>
    public Task AbandonAsync(CancellationToken cancellationToken) => _marks.ClearBehindAsync(_mark, cancellationToken);
}
