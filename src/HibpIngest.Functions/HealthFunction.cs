using System.Net;
using HibpIngest.Hosting;
using HibpIngest.Web;
using Microsoft.Azure.Functions.Worker;
using Microsoft.Azure.Functions.Worker.Http;

namespace HibpIngest.Functions;

/// <summary>
/// Answers <c>GET /api/health</c>, which anybody may call: 200 when the settings are right and the storage account answers, else 503,
/// with a line for each wrong setting. It creates nothing, and doesn't ask the database.
/// </summary>
public sealed class HealthFunction(SettingsErrors settings, CachedCheck store)
{
    internal const string Name = "Health";

    [Function(Name)]
    public async Task<HttpResponseData> RunAsync(
        [HttpTrigger(AuthorizationLevel.Anonymous, "get", Route = "health")] HttpRequestData request)
    {
        var isWell = settings.Messages.Count == 0 && await store.IsWellAsync();
        var response = request.CreateResponse(isWell ? HttpStatusCode.OK : HttpStatusCode.ServiceUnavailable);
        response.Headers.Add("Content-Type", "application/json; charset=utf-8");
        response.Headers.Add("Cache-Control", "no-store");
        await response.Body.WriteAsync(HealthAnswer.ToJson(isWell, settings.Public));
        return response;
    }
}
