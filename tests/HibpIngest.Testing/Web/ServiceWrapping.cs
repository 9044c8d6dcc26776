using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Testing;

/// <summary>Replaces services of a host in a test.</summary>
internal static class ServiceWrapping
{
    /// <summary>Replaces a service, registered by a factory, by one that is made from it.</summary>
    public static IServiceCollection Wrap<T>(this IServiceCollection services, Func<T, T> wrap)
        where T : class
    {
        var inner = services.Last(service => service.ServiceType == typeof(T)).ImplementationFactory!;
        return services.AddSingleton(provider => wrap((T)inner(provider)));
    }
}
