namespace HibpIngest.Pipeline.Catalogue;

/// <summary>A change that readers see, marked in the register first; sweeps publish until the mark is cleared.</summary>
public sealed class CatalogueChange(PublishCatalogue publisher, IWorkRegister register, string mark)
{
    public async Task<PublishedCatalogue> PublishAsync(CancellationToken cancellationToken)
    {
        var published = await publisher.WriteAsync(cancellationToken);
        await register.ClearStaleMarkAsync(mark, cancellationToken);
        return published;
    }

    /// <summary>Publishes the change for work that doesn't depend on it: a failure is logged and left to the next sweep.</summary>
    public async Task<bool> TryPublishAsync(CancellationToken cancellationToken)
    {
        try
        {
            await PublishAsync(cancellationToken);
            return true;
        }
        catch (HibpException e)
        {
            publisher.LogBehind(e.Message);
            return false;
        }
    }

    /// <summary>Publishes the change for an operator; the error says what readers see until publishing succeeds.</summary>
    /// <param name="done">The change made: "Adobe is hidden".</param>
    /// <param name="shown">What readers see until it is published.</param>
    public async Task PublishAsync(string done, string shown, CancellationToken cancellationToken)
    {
        try
        {
            await PublishAsync(cancellationToken);
        }
        catch (HibpException e)
        {
            throw new CatalogueBehindException(
                $"{done}, but the catalogue could not be published ({e.Message}): {shown} until then; a host's next sweep publishes "
                + "it; to publish it now, run: hibp catalogue publish", e);
        }
    }

    /// <summary>Clears the mark without publishing, because nothing was changed.</summary>
    public Task AbandonAsync(CancellationToken cancellationToken) => register.ClearStaleMarkAsync(mark, cancellationToken);
}

/// <summary>A change was made, but readers don't see it yet.</summary>
public sealed class CatalogueBehindException(string message, HibpException cause) : HibpException(message, cause);
