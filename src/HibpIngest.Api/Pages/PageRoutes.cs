namespace HibpIngest.Api.Pages;

internal static class PageRoutes
{
    /// <summary>Names a page, and leaves it out of the OpenAPI document, which lists what programs use.</summary>
    public static RouteHandlerBuilder AsPage(this RouteHandlerBuilder endpoint, string name) =>
        endpoint.WithName($"page {name}").ExcludeFromDescription();
}
