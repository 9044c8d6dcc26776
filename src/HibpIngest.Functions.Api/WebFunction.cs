using HibpIngest.Api;
using HibpIngest.Api.Responses;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions.Api;

/// <summary>Passes the worker's requests to the API. If settings are wrong, every response is 503 and names them.</summary>
public sealed class ApiRequests
{
    private readonly RequestDelegate _api;

    public ApiRequests(IServiceProvider services, SettingsErrors settings)
    {
        if (settings.Messages.Count > 0)
        {
            var error = new ErrorResponse(
                StatusCodes.Status503ServiceUnavailable, $"the app settings are wrong: {string.Join("; ", settings.Public)}");
            _api = context => error.ExecuteAsync(context);
            return;
        }
        var app = new ApplicationBuilder(services);
        app.MapHibpApi();
        _api = app.Build();
    }

    /// <summary>Serves a request. The worker has matched it with its only function; the API's routing must match it again.</summary>
    public Task AnswerAsync(HttpContext context)
    {
        context.SetEndpoint(null);
        context.Request.RouteValues.Clear();
        return _api(context);
    }
}

/// <summary>Serves every path, anonymously: the API checks keys itself.</summary>
public sealed class WebFunction(ApiRequests api)
{
    [Function("Web")]
    public Task RunAsync(
        [HttpTrigger(AuthorizationLevel.Anonymous, "get", "head", "options", "post", "put", "delete", Route = "{*path}")]
        HttpRequest request) => api.AnswerAsync(request.HttpContext);
}
