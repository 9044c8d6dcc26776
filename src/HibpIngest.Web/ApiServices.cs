using HibpIngest.AccessLog;
using HibpIngest.Lookup;
using HibpIngest.Passwords;
using HibpIngest.Stores;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;

namespace HibpIngest.Web;

/// <summary>Composes the API: its services, and its routes. Both hosts call the same two methods.</summary>
public static class ApiServices
{
    /// <summary>Key of the <see cref="PasswordStores"/> that are read before the storage account's own (HIBP_PASSWORDS_NEAREST).</summary>
    public const string NearestPasswords = "nearest";

    /// <summary>Adds the API. The caller adds the storage ports, the clock and the logs.</summary>
    public static IServiceCollection AddHibpApi(this IServiceCollection services, ApiOptions options)
    {
        services.AddSingleton(options).AddSingleton(options.Web).AddSingleton(options.Passwords);
        services.TryAddSingleton<PasswordStores>();
        services.AddSingleton<IPasswordRanges>(provider =>
            provider.GetKeyedService<PasswordStores>(NearestPasswords) is { } nearest
                ? ActivatorUtilities.CreateInstance<NearestRanges>(provider, nearest, provider.GetRequiredService<PasswordStores>())
                : ActivatorUtilities.CreateInstance<PasswordRanges>(provider));
        services.TryAddSingleton<LayoutReads>();
        services.TryAddSingleton<IAccountReads>(provider => provider.GetRequiredService<LayoutReads>());
        services.TryAddSingleton<IRangeReads>(provider => provider.GetRequiredService<LayoutReads>());
        services.AddSingleton<CatalogueReader>().AddSingleton<LogoReader>().AddSingleton<BreachedAccounts>().AddSingleton<BreachedRanges>();
        services.AddSingleton(provider => ActivatorUtilities.CreateInstance<DomainSizes>(provider, options.Web.DomainMax));
        services.AddSingleton(provider => ActivatorUtilities.CreateInstance<SubmitAppends>(
            provider, provider.GetRequiredService<IMessageQueues>().Get(AppendMessage.Queue)));
        services.AddHostedService<ApiRefresh>();

        services.AddSingleton<KeyCache>().AddSingleton<RequestLimits>().AddSingleton<CallerCheck>().AddSingleton<RouteRunner>();
        services.AddSingleton<AccountEndpoints>().AddSingleton<RangeEndpoints>().AddSingleton<DomainEndpoints>()
            .AddSingleton<CatalogueEndpoints>().AddSingleton<LogoEndpoints>().AddSingleton<SubscriptionEndpoints>()
            .AddSingleton<PasswordEndpoints>().AddSingleton<AppendEndpoints>().AddSingleton<RangeSubscriptions>()
            .AddSingleton<RangeSubscriptionEndpoints>().AddSingleton<HealthEndpoints>().AddSingleton<OpenApiEndpoint>();
        if (options.Web.TestAccounts ?? options.IsOpen)
            services.AddSingleton<TestAccounts>();
        if (options.Web.AccessLog ?? true)
        {
            services.AddSingleton<IAccessLog>(provider => ActivatorUtilities.CreateInstance<GroupCommitLog>(
                provider, RequestLog.TemplatesOf(WebRoute.AllOf(provider)), options.Web.AccessLogBuffer));
            services.AddSingleton<RequestLog>();
        }
        services.AddRoutingCore();
        return OpenApiDocuments.AddServices(services, options.Address);
    }

    /// <summary>Maps every route, and the middleware around them.</summary>
    public static void MapHibpApi(this IApplicationBuilder app)
    {
        var runner = app.ApplicationServices.GetRequiredService<RouteRunner>();
        app.UseMiddleware<WebGuard>();
        app.UseRouting();
        app.UseEndpoints(endpoints =>
        {
            foreach (var route in RoutesOf(app.ApplicationServices))
            {
                endpoints.MapMethods(route.Template, route.Methods, context => runner.RunAsync(context, route))
                    .WithMetadata(route).WithDisplayName(route.Template);
            }
        });
    }

    private static IReadOnlyList<WebRoute> RoutesOf(IServiceProvider services)
    {
        var account = Get<AccountEndpoints>();
        var range = Get<RangeEndpoints>();
        var domain = Get<DomainEndpoints>();
        var catalogue = Get<CatalogueEndpoints>();
        var password = Get<PasswordEndpoints>();
        var health = Get<HealthEndpoints>();
        return
        [
            new("/api/v3/breachedaccount/{account?}", RouteAccess.Key, account.BreachedAccountAsync)
            {
                Scope = KeyScopes.Search,
                TakesTestAccounts = true,
            },
            new("/api/v3/breachedaccount/range/{prefix?}", RouteAccess.KeyWithText, range.BreachedAccountRangeAsync)
            {
                Scope = KeyScopes.Range,
            },
            new("/api/v3/breacheddomain/{domain?}", RouteAccess.Key, domain.BreachedDomainAsync) { Scope = KeyScopes.Domains },
            new("/api/v3/subscribeddomains", RouteAccess.Key, domain.SubscribedDomainsAsync),
            new("/api/v3/breaches", RouteAccess.Catalogue, catalogue.BreachesAsync),
            new("/api/v3/breach/{name}", RouteAccess.Catalogue, catalogue.BreachAsync),
            new("/api/v3/latestbreach", RouteAccess.Catalogue, catalogue.LatestBreachAsync) { IsCounted = true },
            new("/api/v3/dataclasses", RouteAccess.Catalogue, catalogue.DataClassesAsync),
            new("/api/v3/subscription/status", RouteAccess.Key, Get<SubscriptionEndpoints>().StatusAsync),
            new("/api/v3/pasteaccount/{account?}", RouteAccess.Key, account.PasteAccountAsync)
            {
                Scope = KeyScopes.Search,
                TakesTestAccounts = true,
            },
            new("/api/v3/stealerlogsbyemail/{account?}", RouteAccess.Key, SubscriptionEndpoints.NotIncludedAsync),
            new("/api/v3/stealerlogsbywebsitedomain/{domain?}", RouteAccess.Key, SubscriptionEndpoints.NotIncludedAsync),
            new("/api/v3/stealerlogsbyemaildomain/{domain?}", RouteAccess.Key, SubscriptionEndpoints.NotIncludedAsync),
            new("/enterprise/range/search/{prefix?}", RouteAccess.Enterprise, range.EnterpriseSearchAsync) { Scope = KeyScopes.Range },
            .. SubscriptionRoutes(Get<RangeSubscriptionEndpoints>()),
            new("/range/{prefix?}", RouteAccess.Passwords, password.RangeAsync),
            new("/passwords/changes", RouteAccess.Passwords, password.ChangesAsync),
            .. Get<PasswordOptions>().Passwords == PasswordPin.Off ? [] : AppendRoutes(Get<AppendEndpoints>()),
            new("/logos/{file}", RouteAccess.Open, Get<LogoEndpoints>().LogoAsync),
            new(OpenApiDocuments.Route, RouteAccess.Open, Get<OpenApiEndpoint>().DocumentAsync),
            new("/healthz", RouteAccess.Open, health.ProcessAsync) { IsProbe = true },
            new("/readyz", RouteAccess.Open, health.StoresAsync) { IsProbe = true },
        ];

        T Get<T>()
            where T : notnull => services.GetRequiredService<T>();
    }

    private static IEnumerable<WebRoute> AppendRoutes(AppendEndpoints append)
    {
        foreach (var root in (string[])["/ingestion", ""])
        {
            yield return Route($"{root}/append", append.AppendAsync);
            yield return Route($"{root}/append/confirm", append.ConfirmAsync);
        }

        static WebRoute Route(string template, Func<WebCall, Task> answer) =>
            new(template, RouteAccess.Append, answer) { Verbs = [HttpMethods.Post], Scope = KeyScopes.Append };
    }

    private static IEnumerable<WebRoute> SubscriptionRoutes(RangeSubscriptionEndpoints subscriptions)
    {
        yield return Route("/enterprise/range/subscribe", subscriptions.SubscribeAsync, HttpMethods.Post, HttpMethods.Get);
        yield return Route("/enterprise/range/{prefix}", subscriptions.UnsubscribeAsync, HttpMethods.Delete);
        yield return Route(
            "/enterprise/range/subscriptions", subscriptions.AllAsync, HttpMethods.Get, HttpMethods.Post, HttpMethods.Put);

        static WebRoute Route(string template, Func<WebCall, Task> answer, params string[] verbs) =>
            new(template, RouteAccess.Client, answer) { Verbs = verbs, Scope = KeyScopes.Range };
    }
}
