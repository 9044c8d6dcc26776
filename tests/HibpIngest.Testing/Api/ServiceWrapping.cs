using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Testing;

internal static class ServiceWrapping
{
    /// <summary>Replaces a service that was registered by a factory with a wrapper around it.</summary>
    public static IServiceCollection Wrap<T>(this IServiceCollection services, Func<T, T> wrap)
        where T : class
    {
        var inner = services.Last(service => service.ServiceType == typeof(T)).ImplementationFactory!;
        return services.AddSingleton(provider => wrap((T)inner(provider)));
    }

    /// <summary>Runs the test's hook before each call of a service, with the method's name.</summary>
    public static IServiceCollection Hook<T>(this IServiceCollection services, Func<string, Task> before)
        where T : class => services.Wrap<T>(inner => PortProxy<T>.Create(inner, before));

    /// <summary>Runs an action before each call of one of a service's methods.</summary>
    public static IServiceCollection Hook<T>(this IServiceCollection services, string method, Action before)
        where T : class => services.Hook<T>(called =>
        {
            if (called == method)
                before();
            return Task.CompletedTask;
        });
}
