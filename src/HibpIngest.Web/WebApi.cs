using HibpIngest.AccessLog;
using HibpIngest.Lookup;
using HibpIngest.Passwords;
using HibpIngest.Stores;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Web;

/// <summary>The API: which address is answered by what. Both hosts map it.</summary>
public sealed class WebApi : IAsyncDisposable
{
    private readonly KeyCache _keys;
    private readonly RequestLimits _limits = new();
    private readonly WebGuard _guard;
    private readonly RouteRunner _runner;
    private readonly AppendEndpoints _append;
    private readonly RangeSubscriptionEndpoints _subscriptions;
    private readonly GroupCommitLog? _access;

    /// <param name="stores">What it reads.</param>
    /// <param name="options">How it answers.</param>
    /// <param name="passwords">How it serves Pwned Passwords.</param>
    /// <param name="isOpen">Nobody needs a key: for a server that only this machine reaches.</param>
    /// <param name="isHttps">People reach it by https.</param>
    /// <param name="isAllDurable">
    /// Every request is logged before it is answered: on a host that may stop a process behind an answer, or freeze it.
    /// </param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    public WebApi(
        WebStores stores, WebOptions options, PasswordOptions passwords, bool isOpen, bool isHttps, bool isAllDurable,
        TimeProvider time, ILoggerFactory logs)
    {
        Passwords = stores.NearestPasswords is { } nearest
            ? new NearestRanges(nearest, stores.Passwords, passwords, time, logs)
            : new PasswordRanges(stores.Passwords, passwords, time, logs);
        Catalogue = new CatalogueReader(stores.Catalogue, time, logs.CreateLogger<CatalogueReader>());
        var accounts = new BreachedAccounts(Catalogue, stores.Accounts);
        var tests = options.TestAccounts ?? isOpen ? new TestAccounts() : null;
        _keys = new KeyCache(stores.Keys);
        _runner = new RouteRunner(new CallerCheck(_keys, _limits, options, isOpen), tests, isHttps);

        RequestLog? requests = null;
        var account = new AccountEndpoints(accounts, tests);
        var range = new RangeEndpoints(new BreachedRanges(Catalogue, stores.Ranges));
        var domain = new DomainEndpoints(accounts, new DomainSizes(stores.Accounts, options.DomainMax, time), options);
        var catalogue = new CatalogueEndpoints(Catalogue);
        var logo = new LogoEndpoints(Catalogue, new LogoReader(stores.Catalogue, time));
        var subscription = new SubscriptionEndpoints(options);
        var password = new PasswordEndpoints(Passwords, passwords);
        var health = new HealthEndpoints(Catalogue, stores.Accounts, time);
        _append = new AppendEndpoints(
            new SubmitAppends(stores.Appends, stores.AppendQueue, time, logs.CreateLogger<SubmitAppends>()), time);
        _subscriptions = new RangeSubscriptionEndpoints(new RangeSubscriptions(stores.Prefixes, time), time);
        Routes =
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
            new("/api/v3/subscription/status", RouteAccess.Key, subscription.StatusAsync),
            new("/api/v3/pasteaccount/{account?}", RouteAccess.Key, account.PasteAccountAsync)
            {
                Scope = KeyScopes.Search,
                TakesTestAccounts = true,
            },
            new("/api/v3/stealerlogsbyemail/{account?}", RouteAccess.Key, SubscriptionEndpoints.NotIncludedAsync),
            new("/api/v3/stealerlogsbywebsitedomain/{domain?}", RouteAccess.Key, SubscriptionEndpoints.NotIncludedAsync),
            new("/api/v3/stealerlogsbyemaildomain/{domain?}", RouteAccess.Key, SubscriptionEndpoints.NotIncludedAsync),
            new("/enterprise/range/search/{prefix?}", RouteAccess.Enterprise, range.EnterpriseSearchAsync) { Scope = KeyScopes.Range },
            .. SubscriptionRoutes(),
            new("/range/{prefix?}", RouteAccess.Passwords, password.RangeAsync),
            new("/passwords/changes", RouteAccess.Passwords, password.ChangesAsync),
            .. passwords.Passwords == PasswordPin.Off ? [] : AppendRoutes(),
            new("/logos/{file}", RouteAccess.Open, logo.LogoAsync),
            new(OpenApiDocuments.Route, RouteAccess.Open, new OpenApiEndpoint().DocumentAsync),
            new("/healthz", RouteAccess.Open, health.ProcessAsync) { IsProbe = true },
            new("/readyz", RouteAccess.Open, health.StoresAsync) { IsProbe = true },
        ];
        if (options.AccessLog ?? true)
        {
            var templates = RequestLog.TemplatesOf(Routes);
            _access = new GroupCommitLog(
                stores.AccessLog, templates, options.AccessLogBuffer, time, logs.CreateLogger<GroupCommitLog>());
            requests = new RequestLog(_access, templates, isAllDurable, time);
        }
        _guard = new WebGuard(isOpen, requests, time, logs.CreateLogger<WebGuard>());
    }

    /// <summary>The breaches, to be kept fresh by <see cref="Revalidated{T}.RunAsync"/>.</summary>
    public CatalogueReader Catalogue { get; }

    /// <summary>Pwned Passwords, to be kept up with what is served by <see cref="IPasswordRanges.RunAsync"/>.</summary>
    public IPasswordRanges Passwords { get; }

    internal IReadOnlyList<WebRoute> Routes { get; }

    /// <summary>Adds what it needs of a host.</summary>
    /// <param name="services">The host's.</param>
    /// <param name="api">Finds it among them.</param>
    /// <param name="address">Where people reach it (HIBP_WEB_URL).</param>
    public static IServiceCollection AddServices(IServiceCollection services, Func<IServiceProvider, WebApi> api, string address)
    {
        services.AddRoutingCore();
        return OpenApiDocuments.AddServices(services, provider => api(provider).Routes, address);
    }

    /// <summary>Maps every address, and what stands around them.</summary>
    public void Map(IApplicationBuilder app)
    {
        app.Use(next => context => _guard.RunAsync(context, next));
        app.UseRouting();
        app.UseEndpoints(endpoints =>
        {
            foreach (var route in Routes)
            {
                endpoints.MapMethods(route.Template, route.Methods, context => _runner.RunAsync(context, route))
                    .WithMetadata(route).WithDisplayName(route.Template);
            }
        });
    }

    /// <summary>To be called when nothing is answered any more: writes what is to be logged.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_access is not null)
            await _access.DisposeAsync();
        Passwords.Dispose();
        _keys.Dispose();
        _limits.Dispose();
        _append.Dispose();
        _subscriptions.Dispose();
    }

    private IEnumerable<WebRoute> AppendRoutes()
    {
        foreach (var root in (string[])["/ingestion", ""])
        {
            yield return Route($"{root}/append", _append.AppendAsync);
            yield return Route($"{root}/append/confirm", _append.ConfirmAsync);
        }

        static WebRoute Route(string template, Func<WebCall, Task> answer) =>
            new(template, RouteAccess.Append, answer) { Verbs = [HttpMethods.Post], Scope = KeyScopes.Append };
    }

    private IEnumerable<WebRoute> SubscriptionRoutes()
    {
        yield return Route("/enterprise/range/subscribe", _subscriptions.SubscribeAsync, HttpMethods.Post, HttpMethods.Get);
        yield return Route("/enterprise/range/{prefix}", _subscriptions.UnsubscribeAsync, HttpMethods.Delete);
        yield return Route(
            "/enterprise/range/subscriptions", _subscriptions.AllAsync, HttpMethods.Get, HttpMethods.Post, HttpMethods.Put);

        static WebRoute Route(string template, Func<WebCall, Task> answer, params string[] verbs) =>
            new(template, RouteAccess.Client, answer) { Verbs = verbs, Scope = KeyScopes.Range };
    }
}
