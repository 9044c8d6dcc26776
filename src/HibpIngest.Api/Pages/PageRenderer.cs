using System.IO.Compression;
using Microsoft.AspNetCore.Components;
using Microsoft.AspNetCore.Components.Web;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Net.Http.Headers;

namespace HibpIngest.Api.Pages;

/// <summary>
/// Renders a component to a page. Not RazorComponentResult: its services include data protection, which writes keys to disk.
/// </summary>
public sealed class PageRenderer(IServiceProvider services, ILoggerFactory logs)
{
    /// <summary>Writes the page with its length, without which a page that is cut off may look complete.</summary>
    public async Task WriteAsync<TPage>(HttpContext context, Dictionary<string, object?> parameters, int status = StatusCodes.Status200OK)
        where TPage : IComponent
    {
        var response = context.Response;
        PageHeaders.Add(response.Headers);
        var bytes = Encoding.UTF8.GetBytes($"<!DOCTYPE html>\n{await RenderAsync<TPage>(parameters)}");
        if (RequestHeaders.AcceptsGzip(context.Request))
        {
            response.Headers.ContentEncoding = "gzip";
            bytes = Gzip(bytes);
        }
        response.Headers.Vary = HeaderNames.AcceptEncoding;
        (response.StatusCode, response.ContentType, response.ContentLength) = (status, "text/html; charset=utf-8", bytes.Length);
        await response.Body.WriteAsync(bytes, context.RequestAborted);
    }

    /// <summary>Returns a component's HTML.</summary>
    public async Task<string> RenderAsync<TComponent>(IDictionary<string, object?> parameters)
        where TComponent : IComponent
    {
        // Components may use scoped services, which a host in development doesn't take from the root.
        await using var scope = services.CreateAsyncScope();
        await using var renderer = new HtmlRenderer(scope.ServiceProvider, logs);
        return await renderer.Dispatcher.InvokeAsync(
            async () => (await renderer.RenderComponentAsync<TComponent>(ParameterView.FromDictionary(parameters))).ToHtmlString());
    }

    // A page has a secret (its ticket) or repeats what was typed (the proof of a domain), never both, so its length reveals no secret.
    private static byte[] Gzip(byte[] bytes)
    {
        using var packed = new MemoryStream();
        using (var gzip = new GZipStream(packed, CompressionLevel.Fastest))
            gzip.Write(bytes);
        return packed.ToArray();
    }
}
