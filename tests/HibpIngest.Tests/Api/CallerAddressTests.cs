using HibpIngest.Api.Callers;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Tests.Api;

public sealed class CallerAddressTests
{
    private const string Peer = "203.0.113.200";

    [Theory]
    [InlineData(0, Peer, "198.51.100.7, 203.0.113.4:51234")]
    [InlineData(1, "203.0.113.4", "198.51.100.7, 203.0.113.4:51234")]
    [InlineData(2, "198.51.100.7", "198.51.100.7, 203.0.113.4:51234")]
    [InlineData(3, Peer, "198.51.100.7, 203.0.113.4:51234")]
    [InlineData(1, "203.0.113.4", "198.51.100.7", "203.0.113.4")] // two header lines
    [InlineData(1, "2001:db8::1", "[2001:db8::1]:443")]
    [InlineData(1, "2001:db8::1", "2001:db8::1")]
    [InlineData(1, Peer, "unknown")]
    [InlineData(1, Peer, "198.51.100.7, ")]
    [InlineData(1, Peer)]
    // A Functions host that proxies replaces the header by the one address it sees.
    [InlineData(0, Peer, "127.0.0.1")]
    [InlineData(1, "127.0.0.1", "127.0.0.1")]
    [InlineData(2, Peer, "127.0.0.1")]
    public void The_entry_written_by_our_outermost_proxy_is_used(int proxies, string expected, params string[] forwarded)
    {
        var context = new DefaultHttpContext();
        context.Connection.RemoteIpAddress = IPAddress.Parse(Peer);
        if (forwarded.Length > 0)
            context.Request.Headers["X-Forwarded-For"] = forwarded;
        Assert.Equal(expected, CallerAddress.Of(context, proxies)?.ToString());
    }
}
