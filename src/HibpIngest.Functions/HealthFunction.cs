using System.Net;
using HibpIngest.Api;
using HibpIngest.Api.Responses;
using Microsoft.Azure.Functions.Worker.Http;

namespace HibpIngest.Functions;

/// <summary>200 if the settings are valid and the storage account responds, else 503. Needs no key, and queries no database.</summary>
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
        await response.Body.WriteAsync(HealthResponse.ToJson(isWell, settings.Public));
        return response;
    }
}
