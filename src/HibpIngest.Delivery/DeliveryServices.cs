using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Delivery;

public static class DeliveryServices
{
    /// <summary>Adds <see cref="IDomainRecords"/>, read by DNS.</summary>
    /// <param name="server">HIBP_DNS. Null for the servers of this machine.</param>
    public static IServiceCollection AddHibpDns(this IServiceCollection services, string? server) =>
        services.AddSingleton<IDomainRecords>(_ => new DomainRecords(server));

    /// <summary>Adds both senders. They are created on first use; creating them makes no network call.</summary>
    /// <param name="services">Must also provide the <see cref="TimeProvider"/>.</param>
    /// <param name="mail">Value of HIBP_MAIL, as for <see cref="NotificationSenders.Create"/>.</param>
    /// <param name="callLoopback">True if callbacks may go to loopback addresses.</param>
    public static IServiceCollection AddHibpDelivery(this IServiceCollection services, string mail, bool callLoopback) => services
        .AddSingleton(provider => NotificationSenders.Create(mail, provider.GetRequiredService<TimeProvider>()))
        .AddSingleton<ICallbackSender>(provider => new CallbackSender(provider.GetRequiredService<TimeProvider>(), callLoopback));
}
