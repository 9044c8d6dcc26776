using HibpIngest.Api.AccessLog;
using HibpIngest.Api.AccessLog.Requests;
using HibpIngest.Api.Endpoints;
using HibpIngest.Api.Pages;
using HibpIngest.Api.Subscriptions;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using Microsoft.AspNetCore.RateLimiting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;

namespace HibpIngest.Api;

/// <summary>Registers the API's services and routes. Both hosts call the same two methods.</summary>
public static class ApiServices
{
    /// <summary>Key of the <see cref="PasswordStores"/> that are read before the storage account's own (HIBP_PASSWORDS_NEAREST).</summary>
    public const string NearestPasswords = "nearest";

    /// <summary>Adds the API. The caller adds the storage ports, the clock and the logs.</summary>
    public static IServiceCollection AddHibpApi(this IServiceCollection services, ApiOptions options)
    {
        services.AddSingleton(options).AddSingleton(Options.Create(options.Web)).AddSingleton(Options.Create(options.Passwords));
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
        services.AddSingleton<SubmitAppends>();
        services.AddHostedService<ApiRefresh>();

        KeyPolicies.Add(services, options);
        services.Configure<RateLimiterOptions>(limits => limits.OnRejected = (rejected, _) => new ValueTask(
            RejectAsync(rejected.HttpContext, ErrorResponse.TooMany(RequestLimits.RetryAfter(rejected.Lease)))));
        services.AddSingleton<RangeSubscriptions>().AddSingleton<StoresHealth>();
        services.AddHealthChecks().AddCheck<StoresHealth>("stores");
        services.AddSingleton<IApiEndpoints, AccountEndpoints>().AddSingleton<IApiEndpoints, RangeEndpoints>()
            .AddSingleton<IApiEndpoints, DomainEndpoints>().AddSingleton<IApiEndpoints, CatalogueEndpoints>()
            .AddSingleton<IApiEndpoints, SubscriptionEndpoints>().AddSingleton<IApiEndpoints, RangeSubscriptionEndpoints>()
            .AddSingleton<IApiEndpoints, PasswordEndpoints>().AddSingleton<IApiEndpoints, LogoEndpoints>()
            .AddSingleton<IApiEndpoints, OpenApiEndpoint>();
        if (options.Passwords.Passwords != PasswordPin.Off)
            services.AddSingleton<IApiEndpoints, AppendEndpoints>();
        if (options.Web.HasPages)
        {
            services.AddSingleton<PageKey>().AddSingleton<PageTickets>().AddSingleton<PageRenderer>().AddSingleton<SearchCatalogue>()
                .AddSingleton<IApiEndpoints, PageEndpoints>().AddSingleton<IApiEndpoints, SearchEndpoints>();
        }
        if (options.HasSubscriptions)
        {
            services.AddSingleton<CommandSender>().AddSingleton<DomainSessions>().AddSingleton<DomainAccountsReader>()
                .AddSingleton<IApiEndpoints, PersonEndpoints>().AddSingleton<IApiEndpoints, DomainPageEndpoints>()
                .AddSingleton<IApiEndpoints, DomainVerificationEndpoints>();
        }
        if (options.Web.TestAccounts ?? options.IsOpen)
            services.AddSingleton<TestAccounts>();
        if (options.Web.AccessLog ?? true)
        {
            services.AddSingleton<IAccessLog>(provider => ActivatorUtilities.CreateInstance<GroupCommitLog>(
                provider, RequestLog.TemplatesOf(ApiRoute.AllOf(provider)), options.Web.AccessLogBuffer));
            services.AddSingleton<RequestLog>();
        }
        services.AddRoutingCore();
        OpenApiDocuments.Add(services, options.Address);
        return services;
    }

    public static void MapHibpApi(this IApplicationBuilder app)
    {
        app.UseMiddleware<WebGuard>();
        app.UseRouting();
        app.UseMiddleware<RouteRules>();
        // Other routes skip the cost of authentication, authorization and limits.
        app.UseWhen(context => ApiRoute.Of(context)?.TakesKey == true, keyed => keyed.UseAuthorization());
        app.UseWhen(context => ApiRoute.Of(context)?.HasLimit == true, limited => limited.UseRateLimiter());
        app.UseEndpoints(endpoints =>
        {
            var routes = new ApiRoutes(endpoints);
            foreach (var one in app.ApplicationServices.GetServices<IApiEndpoints>())
                one.Map(routes);
            routes.Probe("/healthz", _ => false).Describe("Whether the process lives", typeof(HealthDocument));
            routes.Probe("/readyz", _ => true).Describe(
                "Whether the catalogue has been read and the account table answers; 503 if not", typeof(HealthDocument));
            routes.MapOptions();
        });
    }

    private static Task RejectAsync(HttpContext context, ErrorResponse error)
    {
        if (!ApiRoute.IsForm(context))
            return error.ExecuteAsync(context);
        context.Response.Headers.RetryAfter = error.RetryAfterSeconds.ToString(CultureInfo.InvariantCulture);
        return NoticePage.WriteAsync(context, context.RequestServices.GetRequiredService<PageRenderer>(), Notice.TooMany);
    }
}
