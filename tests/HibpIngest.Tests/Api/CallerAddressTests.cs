using System.Net;
using HibpIngest.Api.Callers;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Tests.Api;

/// <summary>Tests a caller's address, derived from the connection and the number of our own proxies.</summary>
public sealed class CallerAddressTests
{
    // Not in the recordings, where everything was on one machine.
    private const string Peer = "203.0.113.200";

    [Theory]
    // The host removes the client's headers, and adds only the address it sees.
    [InlineData(RecordedRequest.Proxying, "headers-many", 0, Peer)]
    [InlineData(RecordedRequest.Proxying, "headers-many", 1, "127.0.0.1")]
    [InlineData(RecordedRequest.Proxying, "headers-many", 2, Peer)]
    [InlineData(RecordedRequest.Proxying, "headers-spoofed", 0, Peer)]
    [InlineData(RecordedRequest.Proxying, "headers-spoofed", 1, "127.0.0.1")]
    [InlineData(RecordedRequest.Proxying, "headers-no-user-agent", 2, Peer)]
    // The client's own headers: none of the entries was added by a proxy of ours.
    [InlineData(RecordedRequest.Forwarding, "headers-many", 0, Peer)]
    [InlineData(RecordedRequest.Forwarding, "headers-many", 1, "192.0.2.1")]
    [InlineData(RecordedRequest.Forwarding, "headers-many", 2, Peer)]
    [InlineData(RecordedRequest.Forwarding, "headers-no-user-agent", 1, Peer)]
    public void Recorded_requests_yield_the_callers_address(string mode, string recording, int proxies, string expected)
    {
        var recorded = RecordedRequest.Of(mode, recording);
        Assert.Equal(expected, Of(proxies, [.. recorded.Headers.Where(one => one.Name == "X-Forwarded-For").Select(one => one.Value)]));
    }

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
    public void The_entry_written_by_our_outermost_proxy_is_used(int proxies, string expected, params string[] forwarded) =>
        Assert.Equal(expected, Of(proxies, forwarded));

    private static string? Of(int proxies, string[] forwarded)
    {
        var context = new DefaultHttpContext();
        context.Connection.RemoteIpAddress = IPAddress.Parse(Peer);
        if (forwarded.Length > 0)
            context.Request.Headers["X-Forwarded-For"] = forwarded;
        return CallerAddress.Of(context, proxies)?.ToString();
    }
}
