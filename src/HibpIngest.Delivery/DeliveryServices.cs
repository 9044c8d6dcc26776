using HibpIngest.Stores;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Delivery;

/// <summary>What sends mails and calls clients, for a host's services.</summary>
public static class DeliveryServices
{
    /// <summary>Adds both; they are opened when they are first asked for, and opening them calls nothing.</summary>
    /// <param name="services">A host's; it brings the clock.</param>
    /// <param name="mail">Value of HIBP_MAIL, as for <see cref="NotificationSenders.Create"/>.</param>
    /// <param name="callLoopback">Whether clients on this machine are called.</param>
    public static IServiceCollection AddHibpDelivery(this IServiceCollection services, string mail, bool callLoopback) => services
        .AddSingleton(provider => NotificationSenders.Create(mail, provider.GetRequiredService<TimeProvider>()))
        .AddSingleton<ICallbackSender>(provider => new CallbackSender(provider.GetRequiredService<TimeProvider>(), callLoopback));
}
