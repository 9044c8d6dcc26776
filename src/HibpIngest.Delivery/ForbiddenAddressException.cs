using System.Net;

namespace HibpIngest.Delivery;

/// <summary>A connection was not begun, as what it would lead to may not be called.</summary>
internal sealed class ForbiddenAddressException(IPAddress address) : Exception($"{address} is not a public address")
{
    public IPAddress Address => address;
}
