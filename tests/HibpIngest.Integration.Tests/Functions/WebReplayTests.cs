using Azure.Storage.Blobs;
using Azure.Storage.Queues;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>
/// Replays requests to the API's worker exactly as Functions hosts forwarded them, in both modes. The API must answer
/// each, and refuse callers without a user agent, without a key or with two.
/// </summary>
public sealed class WebReplayTests(ApiHostFixture fixture) : IClassFixture<ApiHostFixture>
{
    private const string TestAccount = "/api/v3/breachedaccount/account-exists@hibp-integration-tests.com";

    // Well-formed, which suffices for the test accounts.
    private const string AnyKey = "00000000000000000000000000000000";

    // Paths without a route (docs/api.md lists the routes): with more segments, or of another name.
    private static readonly string[] NotFound =
        ["list-account-slash", "list-dots-slash-double-encoded", "list-dots-slash-encoded", "list-prefix-only", "list-prefix-slash",
            "list-upsertslice-prefix", "path-dot-encoded-slash"];

    private static readonly string[] NotFoundForwarding = ["param-dots-double-encoded", "path-backslash-encoded"];

    private static readonly string[] NotFoundProxying =
        ["list-dots-double-encoded", "list-backslash", "list-backslash-dots-encoded"];

    [Fact]
    public async Task Every_recorded_request_gets_its_documented_status_from_the_api_alone()
    {
        Assert.Equal((150, 139), (Recorded(RecordedRequest.Forwarding).Count(), Recorded(RecordedRequest.Proxying).Count()));
        var unexpected = new List<string>();
        foreach (var request in RecordedRequest.All)
        {
            var expected = StatusOf(request);
            var answer = await fixture.Host.SendAsync(request);
            // An unread body closes the connection; a host shares its connections among all clients, and must notice.
            var isLast = request.BodyLength > 0 || request.Header("Transfer-Encoding") == "chunked"
                || request.Header("Connection") == "close";
            if ((answer.Status, answer.IsLast) != (expected, isLast))
                unexpected.Add($"{request.Mode}/{request.Name}, {request.Method} {request.Target}: {answer}, not {expected}, {isLast}");
        }
        Assert.Empty(unexpected);
        Assert.DoesNotContain("UpsertSlice", fixture.Host.Worker.Said, StringComparison.Ordinal);
        Assert.DoesNotContain("example.com", fixture.Host.Worker.Said, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Api_app_contains_nothing_of_the_pipeline()
    {
        Assert.Equal(["Web"], fixture.Host.Worker.Triggers.Keys);
        foreach (var mode in (string[])[RecordedRequest.Forwarding, RecordedRequest.Proxying])
        {
            var invocation = RecordedRequest.Of(mode, "queue-invocation");
            Assert.Equal("POST /UpsertSlice", $"{invocation.Method} {invocation.Target}");
            Assert.Equal(404, (await fixture.Host.SendAsync(invocation)).Status);
        }
        // Any pipeline stage would create all containers. The access log's exists, because requests are logged.
        Assert.Equal(
            [IAccessBlobs.Container], new BlobServiceClient(fixture.Storage).GetBlobContainers().Select(container => container.Name));
        Assert.Empty(new QueueServiceClient(fixture.Storage).GetQueues());
    }

    [Fact]
    public async Task Two_keys_return_401_as_improperly_formed()
    {
        foreach (var mode in (string[])[RecordedRequest.Forwarding, RecordedRequest.Proxying])
        {
            var joined = RecordedRequest.Of(mode, "headers-many");
            Assert.Equal($"{AnyKey}, 11111111111111111111111111111111", joined.Header("hibp-api-key"));
            await AssertMalformedAsync(joined with { Target = TestAccount });
            await AssertMalformedAsync(joined with { Target = "/api/v3/subscription/status" });
            var odd = RecordedRequest.Of(mode, "headers-key-odd");
            await AssertMalformedAsync(odd with
            {
                Target = TestAccount,
                Headers = [.. odd.Headers.Where(one => one.Name != "User-Agent"), ("User-Agent", "x")],
            });
            // In two lines, which no host sends.
            await AssertMalformedAsync(joined with
            {
                Target = TestAccount,
                Headers = [.. joined.Headers.Where(one => one.Name != "hibp-api-key"), ("hibp-api-key", AnyKey), ("Hibp-Api-Key", AnyKey)],
            });
        }

        async Task AssertMalformedAsync(RecordedRequest request) => Assert.Equal(
            new RawAnswer(401, """{"statusCode":401,"message":"Access denied due to improperly formed hibp-api-key."}""", IsLast: false),
            await fixture.Host.SendAsync(request));
    }

    [Theory]
    [InlineData("headers-no-user-agent", 403, 403)]
    [InlineData("headers-user-agent-empty", 403, 403)]
    [InlineData("headers-user-agent-odd", 200, 200)]
    [InlineData("headers-user-agent-two", 200, 200)]
    [InlineData("headers-http10", 403, 403)]
    [InlineData("headers-host-port", 403, 403)]
    // A client with the host's own agent: only a mode in which the host appends its own can tell them apart.
    [InlineData("headers-spoofed", 200, 403)]
    public async Task User_agent_of_the_host_does_not_count_as_the_clients(string recording, int forwarding, int proxying)
    {
        foreach (var (mode, expected) in new[] { (RecordedRequest.Forwarding, forwarding), (RecordedRequest.Proxying, proxying) })
        {
            var request = RecordedRequest.Of(mode, recording);
            var answer = await fixture.Host.SendAsync(
                request with { Target = TestAccount, Headers = [.. request.Headers, ("hibp-api-key", AnyKey)] });
            Assert.Equal((mode, expected), (mode, answer.Status));
            Assert.Equal(
                expected == 200 ? """[{"Name":"Adobe"}]""" : """{"statusCode":403,"message":"API request must include a user agent"}""",
                answer.Body);
        }
    }

    [Fact]
    public async Task Proxying_host_reaches_routes_outside_the_recordings()
    {
        var root = RecordedRequest.Of(RecordedRequest.Proxying, "path-root");
        // Nothing is published yet, so the API isn't ready.
        foreach (var (target, expected) in new[] { ("/healthz", 200), ("/readyz", 503), ("/openapi/v3.json", 200), ("/", 404) })
            Assert.Equal((target, expected), (target, (await fixture.Host.SendAsync(root with { Target = target })).Status));
    }

    /// <summary>Below /api/v3, requests without a client's user agent, as all recorded ones are, return 403.</summary>
    private static int StatusOf(RecordedRequest request)
    {
        // POST ..%5C..%5C..%5CUpsertSlice as the account: no route there accepts POST.
        if ((request.Mode, request.Name) == (RecordedRequest.Proxying, "list-account-backslash"))
            return 405;
        var notFound = NotFound.Concat(request.Mode == RecordedRequest.Forwarding ? NotFoundForwarding : NotFoundProxying);
        return request.Target.StartsWith("/api/v3/", StringComparison.OrdinalIgnoreCase) && !notFound.Contains(request.Name) ? 403 : 404;
    }

    private static IEnumerable<RecordedRequest> Recorded(string mode) => RecordedRequest.All.Where(one => one.Mode == mode);
}
