using HibpIngest.Lookup;

namespace HibpIngest.Web;

/// <summary>The API's description.</summary>
internal sealed class OpenApiEndpoint
{
    private readonly Lock _lock = new();
    private Task<ReadyContent>? _document;

    /// <summary><c>GET /openapi/v3.json</c>.</summary>
    public async Task DocumentAsync(WebCall call)
    {
        Task<ReadyContent> document;
        lock (_lock)
            document = _document ??= OpenApiDocuments.CreateAsync(call.Context.RequestServices);
        await ReadyAnswer.WriteAsync(call.Context, await document);
    }
}
