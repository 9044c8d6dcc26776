using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using HibpIngest.Delivery;

namespace HibpIngest.Tests.Clients;

/// <summary>Tests calls to a receiver on this machine under a name that doesn't exist: a second lookup by the system would fail.</summary>
public sealed class CallbackSenderTests
{
    private const string Host = "business.test";
    private const string Path = "/hidden/path?token=hidden";
    private const string Secret = "5ec2e7-of-the-client";
    private const string Key = "load-7-client-9";
    private const string Body = """{"hashPrefix":"0A1B2C"}""";

    private const string NoTls = "no TLS connection: its certificate is not trusted or not for its name, or its port speaks no TLS";

    // Longer than any test waits.
    private static readonly TimeSpan TestTimeout = TimeSpan.FromSeconds(30);

    private static readonly CallResponse Accepted = new(CallOutcome.Accepted, 200, null, null);
    private static readonly Uri Url = new($"https://{Host}{Path}");

    private static readonly IPAddress Public4 = IPAddress.Parse("93.184.216.34");
    private static readonly IPAddress Public6 = IPAddress.Parse("2606:4700:4700::1111");

    [Fact]
    public async Task Calls_arrive_unchanged_over_one_connection_without_extra_headers()
    {
        await using var receiver = CallbackReceiver.Saying(
            "HTTP/1.1 202 Accepted\r\nSet-Cookie: a=b\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
        await using var sender = NewSender();
        // Would otherwise be sent as traceparent.
        using var activity = new Activity("test").Start();

        for (var i = 0; i < 3; i++)
            Assert.Equal(new CallResponse(CallOutcome.Accepted, 202, null, null), await CallAsync(sender, receiver));

        Assert.Equal(3, receiver.Calls.Count);
        Assert.All(receiver.Calls, call =>
        {
            Assert.Equal(1, call.Connection);
            Assert.Equal("POST /hidden/path?token=hidden HTTP/1.1", call.Lines[0]);
            Assert.Equal(
                [
                    $"Authorization: Bearer {Secret}", $"Content-Length: {Body.Length}", "Content-Type: application/json",
                    $"Host: {Host}:{receiver.Port}", $"Idempotency-Key: {Key}", "User-Agent: HibpIngest",
                ],
                call.Lines.Skip(1).Order(StringComparer.Ordinal));
            Assert.Equal(Body, call.Body);
        });
    }

    [Fact]
    public async Task Concurrent_calls_use_one_connection_each()
    {
        const int calls = 16;
        var all = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var received = 0;
        await using var receiver = new CallbackReceiver
        {
            Answer = async (call, stream, cancellationToken) =>
            {
                if (Interlocked.Increment(ref received) == calls)
                    all.SetResult();
                await all.Task.WaitAsync(cancellationToken);
                return await CallbackReceiver.Says(CallbackReceiver.Ok)(call, stream, cancellationToken);
            },
        };
        await using var sender = NewSender();

        var answers = await Task.WhenAll(Enumerable.Range(0, calls).Select(_ => CallAsync(sender, receiver)));

        Assert.All(answers, answer => Assert.Equal(CallOutcome.Accepted, answer.Outcome));
        Assert.Equal(calls, receiver.Connections);
    }

    [Theory]
    [InlineData(CallOutcome.Accepted, null, "200 OK", "204 No Content", "299 Whatever")]
    [InlineData(
        CallOutcome.Refused, "", "400 Bad Request", "401 Unauthorized", "403 business.test/hidden", "404 Not Found",
        "407 Proxy Authentication Required", "500 Internal Server Error", "503 Service Unavailable", "999 Whatever")]
    [InlineData(CallOutcome.Gone, ": it must not be called again", "410 Gone")]
    [InlineData(CallOutcome.Throttled, ": it must not be called now", "429 Too Many Requests")]
    public async Task Status_determines_the_outcome_of_a_call(CallOutcome outcome, string? advice, params string[] statuses)
    {
        foreach (var status in statuses)
        {
            var code = int.Parse(status.AsSpan(0, 3));
            // Retry-After is ignored, except in 429 and 503.
            var more = code is 429 or 503 ? "" : "Retry-After: 5\r\n";
            await using var receiver = CallbackReceiver.Saying(
                $"HTTP/1.1 {status}\r\n{more}WWW-Authenticate: Basic\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
            await using var sender = NewSender();

            var answer = await CallAsync(sender, receiver);

            Assert.Equal(new CallResponse(outcome, code, null, advice is null ? null : $"it answered {code}{advice}"), answer);
            Assert.Single(receiver.Calls);
        }
    }

    [Theory]
    [InlineData(0.0, "0", "Thu, 29 Feb 2024 23:59:57 GMT")]
    [InlineData(120.0, "120")]
    [InlineData(86_400.0, "86400", "86401", "99999999999999999999", "Wed, 01 Mar 2034 00:00:00 GMT")]
    [InlineData(119.877, "Fri, 01 Mar 2024 00:01:58 GMT")]
    [InlineData(0.877, "Thursday, 29-Feb-24 23:59:59 GMT")]
    [InlineData(null, "-5", "1.5", "+5", "soon", "", "\u0661\u0662")]
    public Task Retry_after_is_read_from_429_and_503_responses(double? seconds, params string[] headers) =>
        Assert.AllAsync(headers.SelectMany(header => new[] { (429, header), (503, header) }), async one =>
        {
            var (status, retryAfter) = one;
            await using var receiver = CallbackReceiver.Saying(
                $"HTTP/1.1 {status} Not now\r\nRetry-After: {retryAfter}\r\nContent-Length: 0\r\n\r\n");
            await using var sender = NewSender(TestClock.Standing());

            var answer = await CallAsync(sender, receiver);

            Assert.Equal((CallOutcome.Throttled, status, seconds), (answer.Outcome, answer.Status, answer.RetryAfter?.TotalSeconds));
            Assert.Equal($"it answered {status}: it must not be called now", answer.Error);
        });

    public static TheoryData<int> Redirects => [301, 302, 303, 307, 308];

    [Theory]
    [MemberData(nameof(Redirects))]
    public async Task Redirect_is_not_followed(int status)
    {
        await using var other = new CallbackReceiver();
        await using var receiver = CallbackReceiver.Saying(
            $"HTTP/1.1 {status} There\r\nLocation: http://{Host}:{other.Port}/hidden\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n");
        await using var sender = NewSender();

        var answer = await CallAsync(sender, receiver);

        var error = $"it answered {status}, and redirects are not followed: its address must be the final one";
        Assert.Equal(new CallResponse(CallOutcome.Refused, status, null, error), answer);
        Assert.Single(receiver.Calls);
        Assert.Equal(0, other.Connections);
    }

    [Theory]
    [InlineData("https://127.0.0.1/", "127.0.0.1")]
    [InlineData("https://0x7f.1/", "127.0.0.1")]
    [InlineData("https://169.254.169.254/latest", "169.254.169.254")]
    [InlineData("https://[::1]/", "::1")]
    [InlineData("https://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1")]
    [InlineData("https://[64:ff9b::a00:1]/", "64:ff9b::")]
    [InlineData("https://[fe80::1%1]/", "fe80::1%1")]
    public async Task Non_public_address_is_not_connected_to_in_any_notation(string url, string named)
    {
        var network = new Network(_ => throw new InvalidOperationException("an address is no name"));
        await using var sender = network.NewSender();

        var answer = await CallAsync(sender, new Uri(url));

        Assert.Equal((CallOutcome.Forbidden, 0, null), (answer.Outcome, answer.Status, answer.RetryAfter));
        Assert.StartsWith($"its address resolves to {named}", answer.Error, StringComparison.Ordinal);
        Assert.EndsWith(", which is not a public address", answer.Error, StringComparison.Ordinal);
        Assert.Empty(network.Connected);
    }

    [Theory]
    [InlineData("https", "10.0.0.1", "10.0.0.1")]
    [InlineData("https", "127.0.0.1", "127.0.0.1")]
    [InlineData("https", "::ffff:169.254.169.254", "::ffff:169.254.169.254")]
    [InlineData("https", "192.168.1.1", "93.184.216.34", "192.168.1.1")]
    [InlineData("https", "192.168.1.1", "192.168.1.1", "93.184.216.34")]
    [InlineData("https", "::1", "2606:4700:4700::1111", "93.184.216.34", "::1")]
    // With loopback allowed.
    [InlineData("http", "10.0.0.1", "127.0.0.9", "::ffff:127.0.0.9", "10.0.0.1")]
    [InlineData("http", "::ffff:10.0.0.1", "127.0.0.9", "::ffff:127.0.0.9", "::ffff:10.0.0.1")]
    [InlineData("http", "169.254.169.254", "127.0.0.9", "::ffff:127.0.0.9", "169.254.169.254")]
    [InlineData("http", "0.0.0.0", "127.0.0.9", "::ffff:127.0.0.9", "0.0.0.0")]
    public async Task Name_that_resolves_to_any_non_public_address_is_not_called(string scheme, string named, params string[] addresses)
    {
        var network = new Network(_ => [.. addresses.Select(IPAddress.Parse)]);
        await using var sender = network.NewSender(allowsLoopback: scheme == "http");

        var answer = await CallAsync(sender, new Uri($"{scheme}://{Host}{Path}"));

        Assert.Equal(NotPublic(named), answer);
        Assert.Equal([Host], network.Resolved);
        Assert.Empty(network.Connected);
    }

    [Fact]
    public async Task Name_is_resolved_once_per_connection()
    {
        using var certificate = SmtpTestServer.CreateCertificate(Host);
        await using var receiver = new CallbackReceiver
        {
            Certificate = certificate,
            Answer = (call, stream, cancellationToken) => CallbackReceiver.Says(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + (call.Body == "2" ? "Connection: close" : "A: b") + "\r\n\r\n")(
                call, stream, cancellationToken),
        };
        // The name resolves to another address from the second lookup on.
        var network = new Network(
            lookUp => lookUp == 1 ? [Public6, Public4] : [IPAddress.Loopback])
        { Port = receiver.Port, TrustedRoots = [certificate] };
        await using var sender = network.NewSender();

        Assert.Equal(CallOutcome.Accepted, (await CallAsync(sender, Url, "1")).Outcome);
        Assert.Equal(CallOutcome.Accepted, (await CallAsync(sender, Url, "2")).Outcome);
        // One lookup for both calls, over one connection; the third call needs another one.
        Assert.Equal([Host], network.Resolved);
        var third = await CallAsync(sender, Url, "3");

        Assert.Equal(NotPublic("127.0.0.1"), third);
        Assert.Equal([Host, Host], network.Resolved);
        Assert.Equal([Public6, Public4], Assert.Single(network.Connected));
        Assert.Equal(["1", "2"], receiver.Calls.Select(call => call.Body));
    }

    [Fact]
    public async Task Next_address_of_a_name_is_tried_if_one_does_not_respond()
    {
        await using var receiver = new CallbackReceiver();
        await using var sender = new CallbackSender(
            TimeProvider.System, allowsLoopback: true,
            (_, _) => Task.FromResult<IPAddress[]>([IPAddress.IPv6Loopback, IPAddress.Loopback]));

        Assert.Equal(CallOutcome.Accepted, (await CallAsync(sender, receiver)).Outcome);
    }

    [Theory]
    [InlineData(false, "http://business.test/hidden", "http://127.0.0.1/", "ftp://business.test/hidden", "file:///hidden", "/hidden")]
    [InlineData(true, "ftp://business.test/hidden", "/hidden")]
    public async Task Url_that_is_not_https_is_not_called(bool allowsLoopback, params string[] urls)
    {
        var network = new Network(_ => [Public4]);
        await using var sender = network.NewSender(allowsLoopback);

        await Assert.AllAsync(urls, async url =>
        {
            // On Unix, a path alone would be parsed as a file URL.
            var answer = await CallAsync(sender, new Uri(url, url[0] == '/' ? UriKind.Relative : UriKind.Absolute));
            Assert.Equal(new CallResponse(CallOutcome.Forbidden, 0, null, "its address is not an https URL"), answer);
        });
        Assert.Empty(network.Resolved);
    }

    [Theory]
    [InlineData(true, Host, true)]
    [InlineData(false, Host, false)]
    [InlineData(true, "other.test", false)]
    public async Task Call_requires_a_trusted_certificate_for_the_name(bool isTrusted, string name, bool isCalled)
    {
        using var certificate = SmtpTestServer.CreateCertificate(name);
        await using var receiver = new CallbackReceiver { Certificate = certificate };
        var network = new Network(_ => [Public4]) { Port = receiver.Port, TrustedRoots = isTrusted ? [certificate] : null };
        await using var sender = network.NewSender();

        var answer = await CallAsync(sender, Url);

        Assert.Equal(isCalled ? Accepted : Unreachable(NoTls), answer);
        Assert.Equal(isCalled ? 1 : 0, receiver.Calls.Count);
    }

    [Theory]
    [InlineData("I am no web server\r\n\r\n")]
    [InlineData("")]
    public async Task Server_without_tls_is_unreachable(string greeting)
    {
        await using var server = new LoopbackListener(async (client, cancellationToken) =>
        {
            // The TLS client hello must be read, or the connection would be reset.
            Assert.NotEqual(0, await client.GetStream().ReadAsync(new byte[16_384], cancellationToken));
            await client.GetStream().WriteAsync(Encoding.ASCII.GetBytes(greeting), cancellationToken);
        });
        var network = new Network(_ => [Public4]) { Port = server.Port };
        await using var sender = network.NewSender();

        Assert.Equal(Unreachable(NoTls), await CallAsync(sender, Url));
        Assert.Single(network.Connected);
    }

    [Theory]
    [InlineData("", "it closed the connection before it answered")]
    [InlineData("HTTP/1.1 200 O", "it closed the connection before it answered")]
    [InlineData("business.test says hidden\r\n\r\n", "it answered something that is not HTTP/1.1")]
    [InlineData("HTTP/1.1 200 OK\r\nbusiness.test hidden\r\n\r\n", "it answered something that is not HTTP/1.1")]
    public async Task Invalid_response_is_unreachable(string answer, string error)
    {
        await using var receiver = CallbackReceiver.Saying(answer, keeps: false);
        await using var sender = NewSender();

        Assert.Equal(Unreachable(error), await CallAsync(sender, receiver));
    }

    [Fact]
    public async Task Response_headers_over_64_kb_are_refused()
    {
        var answer = 60_000;
        await using var receiver = new CallbackReceiver
        {
            Answer = (call, stream, cancellationToken) => CallbackReceiver.Says(
                $"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: {new string('a', answer)}\r\n\r\n")(call, stream, cancellationToken),
        };
        await using var sender = NewSender();

        Assert.Equal(CallOutcome.Accepted, (await CallAsync(sender, receiver)).Outcome);
        answer = 66_000;
        Assert.Equal(Unreachable("it answered more than 64 KB of headers"), await CallAsync(sender, receiver));
    }

    [Theory]
    [InlineData(SocketError.HostNotFound, "its name does not resolve (HostNotFound)")]
    [InlineData(SocketError.TryAgain, "its name does not resolve (TryAgain)")]
    [InlineData(null, "its name does not resolve (NoData)")]
    public async Task Unresolvable_name_is_unreachable(SocketError? code, string error)
    {
        var network = new Network(_ => code is null ? [] : throw new SocketException((int)code, $"{Host} is hidden"));
        await using var sender = network.NewSender();

        Assert.Equal(Unreachable(error), await CallAsync(sender, Url));
        Assert.Empty(network.Connected);
    }

    [Fact]
    public async Task Overlong_name_is_unreachable()
    {
        await using var sender = new CallbackSender(TimeProvider.System, allowsLoopback: false);
        // Longer than a name may be: no lookup is made.
        var name = string.Join('.', Enumerable.Repeat(new string('a', 60), 5));

        Assert.Equal(CallOutcome.Unreachable, (await CallAsync(sender, new Uri($"https://{name}.business.test/hidden"))).Outcome);
    }

    [Fact]
    public async Task Closed_port_is_unreachable()
    {
        int port;
        await using (var receiver = new CallbackReceiver())
            port = receiver.Port;
        await using var sender = NewSender();

        Assert.Equal(
            Unreachable("the connection to it failed (ConnectionRefused)"),
            await CallAsync(sender, new Uri($"http://{Host}:{port}{Path}")));
    }

    [Theory]
    [InlineData("the look-up")]
    [InlineData("the connection")]
    [InlineData("the answer")]
    [InlineData("the rest of the headers")]
    public async Task Call_times_out_after_10_seconds_wherever_it_stalls(string at)
    {
        var time = TestClock.WithTimersByHand();
        var stall = new Stall();
        await using var receiver = new CallbackReceiver
        {
            Answer = async (call, stream, cancellationToken) =>
            {
                if (at == "the rest of the headers")
                    await CallbackReceiver.Says("HTTP/1.1 200 OK\r\nA: ")(call, stream, cancellationToken);
                return await stall.StayAsync<bool>(cancellationToken);
            },
        };
        await using var sender = new CallbackSender(
            time, allowsLoopback: true,
            async (_, cancellationToken) =>
                at == "the look-up" ? await stall.StayAsync<IPAddress[]>(cancellationToken) : [IPAddress.Loopback],
            at == "the connection" ? (_, _, cancellationToken) => stall.StayAsync<Stream>(cancellationToken) : null);

        var calling = CallAsync(sender, receiver);
        await stall.Begun.WaitAsync(TestTimeout);
        time.Advance(CallbackClient.CallTimeout - TimeSpan.FromSeconds(1));
        Assert.False(calling.IsCompleted);
        time.Advance(TimeSpan.FromSeconds(1));

        Assert.Equal(Unreachable("it gave no answer within 10 s"), await calling);
    }

    [Fact]
    public async Task Connection_attempt_times_out_before_the_call()
    {
        var stall = new Stall();
        await using var sender = new CallbackSender(
            TestClock.WithTimersByHand(), allowsLoopback: false, (_, _) => Task.FromResult<IPAddress[]>([Public4]),
            (_, _, cancellationToken) => stall.StayAsync<Stream>(cancellationToken));
        Assert.InRange(sender.Handler.ConnectTimeout, TimeSpan.FromSeconds(1), CallbackClient.CallTimeout - TimeSpan.FromSeconds(1));
        sender.Handler.ConnectTimeout = TimeSpan.FromMilliseconds(1);

        Assert.Equal(Unreachable("there was no connection to it within 5 s"), await CallAsync(sender, Url));
    }

    [Fact]
    public async Task Cancelled_call_throws_with_the_cancellation_token()
    {
        var stall = new Stall();
        await using var receiver = new CallbackReceiver { Answer = (_, _, cancellationToken) => stall.StayAsync<bool>(cancellationToken) };
        await using var sender = NewSender();
        using var stop = new CancellationTokenSource();

        var calling = CallAsync(sender, receiver, stop.Token);
        await stall.Begun.WaitAsync(TestTimeout);
        await stop.CancelAsync();

        var e = await Assert.ThrowsAsync<OperationCanceledException>(() => calling);
        Assert.Equal(stop.Token, e.CancellationToken);
        await Assert.ThrowsAsync<OperationCanceledException>(() => CallAsync(sender, receiver, stop.Token));
        Assert.Single(receiver.Calls);
    }

    [Theory]
    [InlineData(65_536, false, true)]
    [InlineData(65_536, true, true)]
    [InlineData(200_000, false, false)]
    [InlineData(200_000, true, false)]
    public async Task Response_body_is_discarded_and_a_long_one_closes_its_connection(int length, bool isChunked, bool isKept)
    {
        var body = new string('a', length);
        var answer = isChunked
            ? $"Transfer-Encoding: chunked\r\n\r\n{length:X}\r\n{body}\r\n0\r\n\r\n" : $"Content-Length: {length}\r\n\r\n{body}";
        await using var receiver = CallbackReceiver.Saying($"HTTP/1.1 200 OK\r\n{answer}");
        await using var sender = NewSender();

        for (var i = 0; i < 3; i++)
            Assert.Equal(Accepted, await CallAsync(sender, receiver));

        Assert.Equal(isKept ? 1 : 3, receiver.Connections);
    }

    [Fact]
    public async Task Endless_response_is_classified_by_its_status_and_closed()
    {
        var closed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var receiver = new CallbackReceiver
        {
            Answer = async (call, stream, cancellationToken) =>
            {
                await CallbackReceiver.Says("HTTP/1.1 500 Whatever\r\n\r\n")(call, stream, cancellationToken);
                try
                {
                    while (true)
                        await stream.WriteAsync(new byte[10_000], cancellationToken);
                }
                catch (IOException)
                {
                    closed.SetResult();
                    return false;
                }
            },
        };
        // The clock stands still, so that no timeout ends the call.
        await using var sender = NewSender(TestClock.WithTimersByHand());

        Assert.Equal(new CallResponse(CallOutcome.Refused, 500, null, "it answered 500"), await CallAsync(sender, receiver));
        await closed.Task.WaitAsync(TestTimeout);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Received_status_counts_even_if_the_body_never_arrives(bool isCancelled)
    {
        var time = TestClock.WithTimersByHand();
        var stall = new Stall();
        await using var receiver = new CallbackReceiver
        {
            Answer = async (call, stream, cancellationToken) =>
            {
                await CallbackReceiver.Says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")(call, stream, cancellationToken);
                return await stall.StayAsync<bool>(cancellationToken);
            },
        };
        var isRead = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var sender = new CallbackSender(
            time, allowsLoopback: true, (_, _) => Task.FromResult<IPAddress[]>([IPAddress.Loopback]),
            async (addresses, port, cancellationToken) =>
                // At the second read the status has arrived, together with all data sent so far.
                new WatchedStream(await ConnectAsync(addresses[0], port, cancellationToken), () => isRead.TrySetResult()));
        using var stop = new CancellationTokenSource();

        var calling = CallAsync(sender, receiver, stop.Token);
        await stall.Begun.WaitAsync(TestTimeout);
        await isRead.Task.WaitAsync(TestTimeout);
        Assert.False(calling.IsCompleted);
        if (isCancelled)
            await stop.CancelAsync();
        else
            time.Advance(CallbackClient.CallTimeout);

        Assert.Equal(Accepted, await calling);
    }

    [Theory]
    [InlineData("5ec2e7\r\nX-Other: 1", Key)]
    [InlineData("5ec2e7\u00E9", Key)]
    [InlineData(Secret, "hidden\r\nX-Other: 1")]
    public async Task Invalid_header_value_is_not_sent(string secret, string key)
    {
        await using var receiver = new CallbackReceiver();
        await using var sender = NewSender();

        var e = await Assert.ThrowsAsync<ArgumentException>(() => sender.CallAsync(
            new CallTarget(new Uri($"http://{Host}:{receiver.Port}{Path}"), secret), Encoding.UTF8.GetBytes(Body), key, default));

        AssertRevealsNothing(e.Message);
        Assert.Equal(0, receiver.Connections);
    }

    [Fact]
    public async Task System_proxy_and_credentials_are_not_used()
    {
        await using var sender = new CallbackSender(TimeProvider.System, allowsLoopback: false);

        // Not tested with a proxy: it would be set in the environment, which all tests share.
        Assert.False(sender.Handler.UseProxy);
        Assert.Null(sender.Handler.Credentials);
        Assert.Null(sender.Handler.DefaultProxyCredentials);
        Assert.False(sender.Handler.PreAuthenticate);
        Assert.Null(sender.Handler.SslOptions.RemoteCertificateValidationCallback);
        Assert.Null(sender.Handler.SslOptions.CertificateChainPolicy);
        // Short enough to follow a change of the name's address.
        Assert.InRange(sender.Handler.PooledConnectionLifetime, TimeSpan.FromSeconds(1), TimeSpan.FromMinutes(2));
        Assert.Equal(CallbackClient.MaxCap, sender.Handler.MaxConnectionsPerServer);
    }

    private static CallResponse Unreachable(string error) => new(CallOutcome.Unreachable, 0, null, error);

    private static CallResponse NotPublic(string named) =>
        new(CallOutcome.Forbidden, 0, null, $"its address resolves to {named}, which is not a public address");

    private static CallbackSender NewSender(TimeProvider? time = null) =>
        new(time ?? TimeProvider.System, allowsLoopback: true, (_, _) => Task.FromResult<IPAddress[]>([IPAddress.Loopback]));

    private static Task<CallResponse> CallAsync(
        CallbackSender sender, CallbackReceiver receiver, CancellationToken cancellationToken = default) =>
        CallAsync(sender, new Uri($"http://{Host}:{receiver.Port}{Path}"), Body, cancellationToken);

    /// <summary>Makes a call, and checks its error: present unless the call is accepted, and without anything confidential.</summary>
    private static async Task<CallResponse> CallAsync(
        CallbackSender sender, Uri url, string body = Body, CancellationToken cancellationToken = default)
    {
        var answer = await sender.CallAsync(new CallTarget(url, Secret), Encoding.UTF8.GetBytes(body), Key, cancellationToken)
            .WaitAsync(TestTimeout);
        Assert.Equal(answer.Outcome == CallOutcome.Accepted, answer.Error is null);
        AssertRevealsNothing(answer.Error ?? "");
        return answer;
    }

    private static void AssertRevealsNothing(string line)
    {
        foreach (var word in new[] { "business", "hidden", "latest", "5ec2e7", "0A1B2C", Key, "\r", "\n" })
            Assert.DoesNotContain(word, line, StringComparison.OrdinalIgnoreCase);
    }

    private static async Task<Socket> ConnectAsync(IPAddress address, int port, CancellationToken cancellationToken)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(address, port, cancellationToken);
        return socket;
    }

    /// <summary>The test's name resolution and connections: every connection goes to this machine's port.</summary>
    private sealed class Network(Func<int, IPAddress[]> addresses)
    {
        private int _lookUps;

        public ConcurrentQueue<string> Resolved { get; } = new();

        public ConcurrentQueue<IPAddress[]> Connected { get; } = new();

        public int Port { get; init; }

        public X509Certificate2Collection? TrustedRoots { get; init; }

        public CallbackSender NewSender(bool allowsLoopback = false) => new(
            TimeProvider.System, allowsLoopback,
            async (name, _) =>
            {
                Resolved.Enqueue(name);
                return await Task.FromResult(addresses(++_lookUps));
            },
            async (to, _, cancellationToken) =>
            {
                Connected.Enqueue(to);
                return new NetworkStream(await ConnectAsync(IPAddress.Loopback, Port, cancellationToken), ownsSocket: true);
            },
            TrustedRoots);
    }

    /// <summary>Blocks until cancelled.</summary>
    private sealed class Stall
    {
        private readonly TaskCompletionSource _begun = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task Begun => _begun.Task;

        public async Task<T> StayAsync<T>(CancellationToken cancellationToken)
        {
            _begun.TrySetResult();
            await Task.Delay(Timeout.Infinite, cancellationToken);
            throw new UnreachableException();
        }
    }

    /// <summary>Reports the start of the second read.</summary>
    private sealed class WatchedStream(Socket socket, Action secondRead) : NetworkStream(socket, ownsSocket: true)
    {
        private int _reads;

        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            if (!buffer.IsEmpty && ++_reads == 2)
                secondRead();
            return base.ReadAsync(buffer, cancellationToken);
        }
    }
}
