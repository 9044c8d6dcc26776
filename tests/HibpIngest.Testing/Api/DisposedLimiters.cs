using System.Reflection;
using System.Threading.RateLimiting;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Testing;

/// <summary>
/// Disposes the limiter of ASP.NET Core's rate limiter middleware together with its host. The middleware itself never does. The limiter's
/// timer runs 10 times a second and keeps all that belongs to the host in memory, and a test run starts hundreds of hosts.
/// </summary>
internal sealed class DisposedLimiters : IStartupFilter, IDisposable
{
    private const string Middleware = "RateLimitingMiddleware";

    private readonly List<IDisposable> _limiters = [];

    public Action<IApplicationBuilder> Configure(Action<IApplicationBuilder> next) => app =>
    {
        // Created last, because a pipeline is built from its end.
        app.Use(all => _limiters.Count > 0 ? all : throw new InvalidOperationException($"no {Middleware} was found in the pipeline"));
        next(new Builder(app, this));
    };

    public void Dispose()
    {
        foreach (var limiter in _limiters)
            limiter.Dispose();
    }

    private RequestDelegate Find(RequestDelegate made)
    {
        if (made.Target is { } target && target.GetType() is { Name: Middleware } type)
        {
            var limiter = type.GetField("_endpointLimiter", BindingFlags.Instance | BindingFlags.NonPublic)!;
            _limiters.Add((IDisposable)limiter.GetValue(target)!);
        }
        return made;
    }

    /// <summary>Shows each middleware, also those of branches, as it is created.</summary>
    private sealed class Builder(IApplicationBuilder inner, DisposedLimiters found) : IApplicationBuilder
    {
        public IServiceProvider ApplicationServices
        {
            get => inner.ApplicationServices;
            set => inner.ApplicationServices = value;
        }

        public IFeatureCollection ServerFeatures => inner.ServerFeatures;

        public IDictionary<string, object?> Properties => inner.Properties;

        public IApplicationBuilder Use(Func<RequestDelegate, RequestDelegate> middleware)
        {
            inner.Use(next => found.Find(middleware(next)));
            return this;
        }

        public IApplicationBuilder New() => new Builder(inner.New(), found);

        public RequestDelegate Build() => inner.Build();
    }
}
