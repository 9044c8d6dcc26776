using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Web;

namespace HibpIngest.Functions;

/// <summary>
/// httpTrigger <c>GET /api/health</c>, anonymous: 200 when the settings are right and the storage account
/// answers, else 503. It says nothing else, makes nothing that is missing (the first sweep does), and doesn't
/// ask the database, which a probe would keep awake.
/// </summary>
internal sealed class HealthFunction
{
    /// <summary>Where the host forwards requests for it, with the prefix of all its routes.</summary>
    public const string Route = "/api/health";

    private readonly CachedCheck _store;

    public HealthFunction(HandlerPipeline pipeline, TimeProvider time) => _store = new CachedCheck(
        async cancellationToken =>
        {
            try
            {
                _ = await pipeline.Get<IStoreRegister>().GetIdentityAsync(cancellationToken);
            }
            catch (StoreMissingException)
            {
                // Fresh, and it let us in.
            }
        }, time);

    public async Task AnswerAsync(HttpContext context) => await HealthAnswer.WriteAsync(context.Response, await _store.IsWellAsync());
}
