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
}
