using System.Net;

namespace HibpIngest.Delivery;

/// <summary>No connection was opened, because the target resolves to an address that must not be called.</summary>
internal sealed class ForbiddenAddressException(IPAddress address) : Exception($"{address} is not a public address")
{
    public IPAddress Address => address;
}
