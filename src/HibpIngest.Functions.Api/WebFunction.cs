using Microsoft.AspNetCore.Http;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions.Api;

/// <summary>Serves every path, anonymously: the API checks keys itself.</summary>
public sealed class WebFunction(ApiRequests api)
{
    [Function("Web")]
    public Task RunAsync(
        [HttpTrigger(AuthorizationLevel.Anonymous, "get", "head", "options", "post", "put", "delete", Route = "{*path}")]
        HttpRequest request) => api.AnswerAsync(request.HttpContext);
}
