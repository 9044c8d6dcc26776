using System.Security.Cryptography.X509Certificates;
using HibpIngest.Api.Endpoints;
using HibpIngest.Hosting.Web;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Integration.Tests.Api;

public sealed class AppendApiTests
{
    private const string NoSuch = "c2c59a12-4788-40b3-b8b4-4fa2e720aab8";
    private const string Sha1 = "F4A69973E7B0BF9D160F9F60E3C3ACD2494BEB0D";
    private const string Ntlm = "FC525C9683E8FE067095BA2DDC971889";
    private const string One = $$"""[{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":15}]""";

    [Theory]
    [InlineData("/ingestion/append", "/append/confirm")]
    [InlineData("/append", "/Ingestion/Append/Confirm")]
    public async Task Append_is_stored_in_order_and_sends_one_message_once_confirmed(string append, string confirm)
    {
        await using var rig = await SenderRig.StartAsync();
        var sent = await rig.AppendAsync($$"""
            [{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}","num":15},
             {"sha1Hash":"00{{Sha1[2..]}}","ntlmHash":"{{Ntlm}}","prevalence":1000000}, {{One[1..^1]}}]
            """, path: append);
        var id = SenderRig.IdOf(sent);
        Assert.Equal(
            ("no-store", "nosniff", "application/json; charset=utf-8"),
            (sent.Header("Cache-Control"), sent.Header("X-Content-Type-Options"), sent.Header("Content-Type")));
        Assert.Equal("", sent.Header("Connection"));
        var row = await rig.FindAsync(id);
        Assert.Equal((AppendState.Submitted, 2, 1, null), (row.State, row.Sha1Rows, row.NtlmRows, row.MessageSentAt));
        Assert.Empty(await rig.MessagesAsync());
        var length = (2 * AppendRows.RowBytes(HashMode.Sha1)) + AppendRows.RowBytes(HashMode.Ntlm);
        var bytes = (await rig.Appends.ReadRowsAsync(Guid.Parse(id), 0, length, None))!.Value;
        var rows = AppendRows.Read(HashMode.Sha1, bytes.Span[..(2 * AppendRows.RowBytes(HashMode.Sha1))]);
        Assert.Equal([1_000_000, 30], rows.Select(one => one.Count));
        Assert.Equal(
            1_000_030, AppendRows.Read(HashMode.Ntlm, bytes.Span[(2 * AppendRows.RowBytes(HashMode.Sha1))..]).Single().Count);

        for (var again = 0; again < 3; again++)
        {
            var confirmed = await rig.ConfirmAsync(id, path: confirm);
            Assert.Equal((200, 0, "no-store"), (confirmed.Status, confirmed.Body.Length, confirmed.Header("Cache-Control")));
        }
        var message = WorkMessage.Parse<AppendMessage>(Assert.Single(await rig.MessagesAsync()));
        Assert.Equal(new AppendMessage(ApiKey.HashOf(rig.Key), Guid.Parse(id)), message);
        row = await rig.FindAsync(id);
        Assert.Equal(AppendState.Confirmed, row.State);
        Assert.NotNull(row.MessageSentAt);

        // An empty append is done once confirmed, without a message.
        id = SenderRig.IdOf(await rig.AppendAsync("[]"));
        Assert.Equal(200, (await rig.ConfirmAsync(id)).Status);
        row = await rig.FindAsync(id);
        Assert.Equal((AppendState.Done, true), (row.State, row.DoneAt is not null));
        Assert.Single(await rig.MessagesAsync());
    }

    [Theory]
    [InlineData("text/plain", One, "Content-Type must be application/json")]
    [InlineData("", One, "Content-Type must be application/json")]
    [InlineData("Application/JSON; charset=utf-8", "[{}]", "Missing SHA-1 hash for item at index 1")]
    [InlineData("application/json", "[{\"sha1\":", "Unable to parse JSON: it is not JSON from line 1, byte 10")]
    public async Task Invalid_append_returns_400_in_plain_text(string type, string body, string text)
    {
        await using var rig = await SenderRig.StartAsync();
        var reply = await rig.PostAsync("/ingestion/append", SenderRig.Json(body, type), (SenderRig.KeyHeader, rig.Key));
        Assert.Equal((400, text), (reply.Status, reply.Text));
        Assert.Equal(("text/plain; charset=utf-8", "no-store"), (reply.Header("Content-Type"), reply.Header("Cache-Control")));
        Assert.Empty(await rig.ListAsync());
    }

    [Theory]
    [InlineData("", 400, "No content provided.")]
    [InlineData("null", 400, "No content provided.")]
    [InlineData("{}", 400, "No content provided.")]
    [InlineData("{\"transactionId\":\"\"}", 400, "No content provided.")]
    [InlineData("{\"TransactionId\":\"" + NoSuch + "\"}", 400, "No content provided.")]
    [InlineData("{\"transactionId\":\"" + NoSuch + "\"}", 404, "TransactionId not found.")]
    [InlineData("{\"transactionId\":\"it's\"}", 404, "TransactionId not found.")]
    [InlineData("{\"transactionId\":5}", 400, "Unable to parse JSON: text is expected as the transactionId")]
    [InlineData("{", 400, "Unable to parse JSON: it is not JSON from line 1, byte 2")]
    public async Task Invalid_confirmation_is_refused_in_plain_text(string body, int status, string text)
    {
        await using var rig = await SenderRig.StartAsync();
        foreach (var isTableCreated in (bool[])[false, true])
        {
            if (isTableCreated)
                await rig.Appends.CreateAsync(None);
            var reply = await rig.PostAsync("/append/confirm", SenderRig.Json(body), (SenderRig.KeyHeader, rig.Key));
            Assert.Equal((status, text, "no-store"), (reply.Status, reply.Text, reply.Header("Cache-Control")));
        }
        var other = await rig.PostAsync("/append/confirm", SenderRig.Json(body, "text/json"), (SenderRig.KeyHeader, rig.Key));
        Assert.Equal((400, "Content-Type must be application/json"), (other.Status, other.Text));
    }

    [Fact]
    public async Task Sender_is_identified_only_by_its_key_in_either_header()
    {
        await using var rig = await SenderRig.StartAsync();
        var (search, other) = (await rig.Web.AddKeyAsync("search"), await rig.Web.AddKeyAsync("other", KeyScopes.Append));
        var wrong = RandomNumberGenerator.GetHexString(32, lowercase: true);
        ((string Name, string Value)[] Headers, int Status, string Text)[] refusals =
        [
            ([], 401, "missing hibp-api-key"),
            ([(SenderRig.KeyHeader, wrong)], 401, "invalid hibp-api-key"),
            ([(SenderRig.KeyHeader, "0")], 401, "improperly formed hibp-api-key"),
            ([(SenderRig.KeyHeader, rig.Key), ("hibp-api-key", other)], 401, "improperly formed hibp-api-key"),
            ([(SenderRig.KeyHeader, rig.Key), (SenderRig.KeyHeader, rig.Key)], 401, "improperly formed hibp-api-key"),
            ([("Hibp-Enterprise-Api-Key", rig.Key)], 401, "missing hibp-api-key"),
            ([("Api-Subscription-Id", ApiKey.HashOf(rig.Key))], 401, "missing hibp-api-key"),
            ([(SenderRig.KeyHeader, search)], 403, "does not have access"),
        ];
        foreach (var (headers, status, text) in refusals)
        {
            foreach (var path in (string[])["/ingestion/append", "/ingestion/append/confirm"])
            {
                var reply = await rig.PostAsync(path, SenderRig.Json(One), headers);
                Assert.Equal((path, status, status), (path, reply.Status, reply.Json.GetProperty("statusCode").GetInt32()));
                Assert.Contains(text, reply.Text, StringComparison.Ordinal);
                Assert.Equal(("no-store", "close"), (reply.Header("Cache-Control"), reply.Header("Connection")));
            }
        }
        Assert.Empty(await rig.ListAsync());

        (string Name, string Value)[][] taken =
        [
            [(SenderRig.KeyHeader, rig.Key)], [("hibp-api-key", rig.Key)], [("HIBP-API-KEY", rig.Key.ToUpperInvariant())],
            [(SenderRig.KeyHeader, rig.Key), ("hibp-api-key", rig.Key)],
            [(SenderRig.KeyHeader, rig.Key), ("Api-Subscription-Id", ApiKey.HashOf(other))],
            [(SenderRig.KeyHeader, rig.Key), ("Api-Subscription-Id", "'")],
        ];
        foreach (var headers in taken)
        {
            var id = SenderRig.IdOf(await rig.PostAsync("/append", SenderRig.Json(One), headers));
            Assert.Equal(ApiKey.HashOf(rig.Key), (await rig.FindAsync(id)).Submitter);
            // Another sender's key can't confirm it, whatever subscription id it claims.
            var refused = await rig.PostAsync(
                "/append/confirm", SenderRig.Json($$"""{"transactionId":"{{id}}"}"""), (SenderRig.KeyHeader, other),
                ("Api-Subscription-Id", ApiKey.HashOf(rig.Key)));
            Assert.Equal((404, "TransactionId not found."), (refused.Status, refused.Text));
            Assert.Equal(AppendState.Submitted, (await rig.FindAsync(id)).State);
        }
        Assert.Empty(await rig.MessagesAsync());
    }

    [Fact]
    public async Task Append_counts_against_the_rate_limit_of_its_key()
    {
        await using var rig = await SenderRig.StartAsync();
        var slow = await rig.Web.AddKeyAsync("slow", KeyScopes.Append, rpm: 1);
        Assert.Equal(200, (await rig.AppendAsync(One, slow)).Status);
        var reply = await rig.AppendAsync(One, slow);
        Assert.Equal((429, 429), (reply.Status, reply.Json.GetProperty("statusCode").GetInt32()));
        Assert.InRange(int.Parse(reply.Header("Retry-After"), CultureInfo.InvariantCulture), 1, 60);
    }

    [Fact]
    public async Task Open_server_accepts_appends_from_its_own_machine_only()
    {
        await using var rig = await SenderRig.StartAsync(isOpen: true);
        var id = SenderRig.IdOf(await rig.PostAsync("/append", SenderRig.Json(One)));
        Assert.Equal("open", (await rig.FindAsync(id, "open")).Submitter);
        Assert.Equal(200, (await rig.PostAsync("/append/confirm", SenderRig.Json($$"""{"transactionId":"{{id}}"}"""))).Status);
        Assert.Equal("open", WorkMessage.Parse<AppendMessage>(Assert.Single(await rig.MessagesAsync())).Subscription);
        Assert.Equal(403, (await rig.PostAsync("/append", SenderRig.Json(One), ("X-Forwarded-For", "203.0.113.1"))).Status);
    }

    [Fact]
    public async Task Append_accepts_only_POST_and_returns_404_when_passwords_are_off()
    {
        await using var rig = await SenderRig.StartAsync();
        foreach (var path in (string[])["/append", "/ingestion/append", "/append/confirm", "/ingestion/append/confirm"])
        {
            foreach (var method in (string[])["GET", "HEAD", "PUT", "DELETE"])
            {
                var reply = await rig.Web.GetAsync(path, rig.Key, method);
                Assert.Equal((path, 405), (path, reply.Status));
                Assert.Contains("POST", reply.Header("Allow"), StringComparison.Ordinal);
                if (method != "HEAD")
                    Assert.Contains("accepts POST", reply.Text, StringComparison.Ordinal);
            }
            var options = await rig.Web.GetAsync(path, method: "OPTIONS");
            Assert.Equal((204, "POST, OPTIONS", ""), (
                options.Status, options.Header("Allow"), options.Header("Access-Control-Allow-Origin")));
        }
        Assert.Contains("accepts GET", (await rig.PostAsync("/range/5BAA6", SenderRig.Json(One))).Text, StringComparison.Ordinal);

        await using var off = await SenderRig.StartAsync(passwords: new PasswordOptions { Passwords = PasswordPin.Off });
        Assert.Equal(404, (await off.AppendAsync(One)).Status);
        Assert.Equal(404, (await off.ConfirmAsync(NoSuch)).Status);
    }

    [Fact]
    public async Task Append_above_a_limit_returns_413_whether_its_length_is_known_or_not()
    {
        await using var rig = await SenderRig.StartAsync();
        // Padded with white space, which JSON allows anywhere.
        var largest = new byte[AppendEndpoints.MaxBytes];
        largest.AsSpan().Fill((byte)' ');
        Encoding.ASCII.GetBytes(SenderRig.Items(50_000)).CopyTo(largest, 0);
        foreach (var (bytes, status) in ((byte[], int)[])[(largest, 200), ([.. largest, (byte)' '], 413)])
        {
            foreach (var content in (HttpContent[])[new ByteArrayContent(bytes), SenderRig.Chunked(bytes)])
            {
                content.Headers.ContentType = new("application/json");
                var reply = await rig.PostAsync("/append", content, (SenderRig.KeyHeader, rig.Key));
                Assert.True(reply.Status == status, reply.ToString());
                if (status == 200)
                    Assert.Equal(50_000, (await rig.FindAsync(SenderRig.IdOf(reply))).NtlmRows);
                else
                    Assert.Equal(("The body must have at most 8388608 bytes: send it in several parts", "close"), (
                        reply.Text, reply.Header("Connection")));
            }
        }
        var rows = await rig.AppendAsync(SenderRig.Items(50_001));
        Assert.Equal((413, "At most 50000 items are taken at once: send them in several parts"), (rows.Status, rows.Text));
        var confirm = await rig.PostAsync("/append/confirm", SenderRig.Json(new string(' ', 5_000)), (SenderRig.KeyHeader, rig.Key));
        Assert.Equal((413, "close"), (confirm.Status, confirm.Header("Connection")));
        // An announced length is refused before the body is sent.
        using var connection = new RawConnection(rig.Web.Address.Port);
        var (announced, head, _) = await connection.AskAsync(Encoding.ASCII.GetBytes(rig.Head(AppendEndpoints.MaxBytes + 1)));
        Assert.Equal(413, announced);
        Assert.Contains("Connection: close", head, StringComparison.Ordinal);
        Assert.Equal(2, (await rig.ListAsync()).Count);
    }

    [Fact]
    public async Task Compressed_body_returns_415()
    {
        await using var rig = await SenderRig.StartAsync();
        foreach (var encoding in (string[])["gzip", "br", "identity, gzip"])
        {
            var content = SenderRig.Chunked(ArchiveTesting.Gzip(Encoding.ASCII.GetBytes(One)));
            content.Headers.TryAddWithoutValidation("Content-Encoding", encoding);
            var reply = await rig.PostAsync("/append", content, (SenderRig.KeyHeader, rig.Key));
            Assert.Equal((415, "Send the body without Content-Encoding: no encoding is accepted"), (reply.Status, reply.Text));
        }
        var plain = SenderRig.Json(One);
        plain.Headers.TryAddWithoutValidation("Content-Encoding", "identity");
        Assert.Equal(200, (await rig.PostAsync("/append", plain, (SenderRig.KeyHeader, rig.Key))).Status);
    }

    [Fact]
    public async Task Concurrent_confirmations_all_succeed_and_send_one_message()
    {
        const int AtOnce = 24;
        await using var rig = await SenderRig.StartAsync();
        var id = SenderRig.IdOf(await rig.AppendAsync(One));
        var replies = await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(_ => rig.ConfirmAsync(id)));
        Assert.All(replies, reply => Assert.True(reply.Status == 200, reply.ToString()));
        Assert.Single(await rig.MessagesAsync());
    }

    [Fact]
    public async Task Confirmation_that_conflicts_with_another_write_returns_409()
    {
        SenderRig? rig = null;
        var id = "";
        var between = 1;
        await using (rig = await SenderRig.StartAsync(replaceServices: services => services.Hook<IPasswordAppends>(async method =>
        {
            // Between read and write, another client writes.
            if (method == nameof(IPasswordAppends.UpdateAsync) && Interlocked.Decrement(ref between) == 0)
                await rig!.Appends.UpdateAsync(await rig.FindAsync(id), None);
        })))
        {
            id = SenderRig.IdOf(await rig.AppendAsync(One));
            var busy = await rig.ConfirmAsync(id);
            Assert.Equal((409, "TransactionId is already being confirmed."), (busy.Status, busy.Text));
            Assert.Equal(200, (await rig.ConfirmAsync(id)).Status);
            Assert.Single(await rig.MessagesAsync());
        }
    }

    [Fact]
    public async Task Confirmation_succeeds_when_its_message_fails_and_the_sweep_sends_the_message()
    {
        var lines = new CollectingLogger();
        using var logs = LoggerFactory.Create(logging => logging.SetMinimumLevel(LogLevel.Trace).AddProvider(lines));
        var queue = PortProxy<IMessageQueue>.Create(null!, _ => throw new UnavailableException("sending failed: status 500"));
        await using var rig = await SenderRig.StartAsync(
            logs: logs, replaceServices: services => services.AddSingleton<IMessageQueues>(new OneQueue(queue)));
        var id = SenderRig.IdOf(await rig.AppendAsync(One));
        for (var again = 0; again < 2; again++)
            Assert.Equal(200, (await rig.ConfirmAsync(id)).Status);
        var row = await rig.FindAsync(id);
        Assert.Equal((AppendState.Confirmed, null), (row.State, row.MessageSentAt));
        Assert.Empty(await rig.MessagesAsync());
        Assert.Single(lines.Lines, line => line.Event == EventIds.SubmitAppendsNotSent);

        await new SweepAppends(rig.Appends, new OneQueue(rig.Queue), TimeProvider.System, NullLogger<SweepAppends>.Instance).RunAsync(None);
        Assert.Equal(new AppendMessage(ApiKey.HashOf(rig.Key), Guid.Parse(id)), WorkMessage.Parse<AppendMessage>(
            Assert.Single(await rig.MessagesAsync())));
    }

    [Theory]
    [InlineData(true, 503, "The service is temporarily unavailable; try again in a moment")]
    [InlineData(false, 500, "An error occurred.")]
    public async Task Store_failure_is_reported_in_plain_text(bool isDown, int status, string text)
    {
        await using var rig = await SenderRig.StartAsync(replaceServices: services => services.Hook<IPasswordAppends>(
            _ => throw (isDown ? new UnavailableException("down") : new InvalidOperationException(Sha1))));
        foreach (var reply in (WebReply[])[await rig.AppendAsync(One), await rig.ConfirmAsync(NoSuch)])
        {
            Assert.Equal((status, text), (reply.Status, reply.Text));
            Assert.Equal(("text/plain; charset=utf-8", "no-store"), (reply.Header("Content-Type"), reply.Header("Cache-Control")));
        }
    }

    [Fact]
    public async Task Slow_or_aborted_body_leaves_nothing()
    {
        await using var rig = await SenderRig.StartAsync();
        using (var broken = new RawBody(rig.Web.Address.Port))
            await broken.SendAsync(rig.Head(One.Length) + One[..^1]);
        using var slow = new RawBody(rig.Web.Address.Port);
        await slow.SendAsync(rig.Head(One.Length) + One[..^1]);
        Assert.StartsWith("HTTP/1.1 408", await slow.ReadToEndAsync(), StringComparison.Ordinal);
        await rig.StopAsync();
        Assert.Empty(await rig.ListAsync());
    }

    [Fact]
    public async Task Appends_above_four_at_once_return_503_with_Retry_After()
    {
        await using var rig = await SenderRig.StartAsync();
        // Fast enough at first not to be disconnected for being slow.
        var head = rig.Head(AppendEndpoints.MaxBytes) + new string(' ', 1 << 20);
        var held = Enumerable.Range(0, AppendEndpoints.MaxConcurrency).Select(_ => new RawBody(rig.Web.Address.Port)).ToList();
        try
        {
            await Task.WhenAll(held.Select(one => one.SendAsync(head)));
            // Until the server is reading all of them.
            var reply = await rig.AppendAsync(One);
            for (var tries = 0; reply.Status == 200 && tries < 500; tries++)
                reply = await rig.AppendAsync(One);
            Assert.Equal((503, "5", "no-store"), (reply.Status, reply.Header("Retry-After"), reply.Header("Cache-Control")));
            Assert.Equal("Other clients are submitting passwords at present; try again in a moment", reply.Text);
            // Small requests are still served.
            Assert.Equal(404, (await rig.ConfirmAsync(NoSuch)).Status);
        }
        finally
        {
            held.ForEach(one => one.Dispose());
        }
        WebReply after;
        do
            after = await rig.AppendAsync(One);
        while (after.Status == 503);
        Assert.Equal(200, after.Status);
    }

    [Fact]
    public async Task Body_times_out_after_two_minutes()
    {
        var clock = TestClock.WithTimersByHand();
        await using var rig = await SenderRig.StartAsync(time: clock);
        using var body = new RawBody(rig.Web.Address.Port);
        await body.SendAsync(rig.Head(AppendEndpoints.MaxBytes) + new string(' ', 1 << 20));
        var answered = body.ReadToEndAsync();
        await clock.AdvanceUntilAsync(answered, TimeSpan.FromMinutes(2));
        Assert.StartsWith("HTTP/1.1 408", await answered, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Append_over_HTTP_2_has_the_same_responses()
    {
        using var folder = new TemporaryFolder();
        // RSA, because the other HTTPS tests have elliptic keys.
        using var own = RSA.Create(2048);
        using var certificate = new CertificateRequest("CN=localhost", own, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1)
            .CreateSelfSigned(TimeProvider.System.GetUtcNow().AddDays(-1), TimeProvider.System.GetUtcNow().AddDays(1));
        var file = folder.Write("api.pem", $"{certificate.ExportCertificatePem()}\n{own.ExportPkcs8PrivateKeyPem()}");
        await using var rig = await SenderRig.StartAsync();
        await using var server = await WebServer.StartAsync(
            new WebServerOptions { Urls = ["https://127.0.0.1:0"], CertificateFile = file },
            services => services.AddHibpApiStorage(rig.Connection, [], nearest: null),
            TimeProvider.System, NullLoggerFactory.Instance, None);
        using var handler = new SocketsHttpHandler
        {
            SslOptions =
            {
                RemoteCertificateValidationCallback = (_, theirs, _, _) => theirs!.GetCertHashString() == certificate.Thumbprint,
            },
        };
        using var client = new HttpClient(handler)
        {
            BaseAddress = new Uri(server.Addresses[0]),
            DefaultRequestVersion = HttpVersion.Version20,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        client.DefaultRequestHeaders.Add(SenderRig.KeyHeader, rig.Key);
        var longer = new byte[AppendEndpoints.MaxBytes + 1];
        longer.AsSpan().Fill((byte)' ');
        foreach (var (content, status) in ((HttpContent, HttpStatusCode)[])[
            (SenderRig.Json(SenderRig.Items(1_000)), HttpStatusCode.OK),
            (SenderRig.Chunked(Encoding.ASCII.GetBytes(SenderRig.Items(1_000))), HttpStatusCode.OK),
            (SenderRig.Chunked(longer), HttpStatusCode.RequestEntityTooLarge), (SenderRig.Json("[1]"), HttpStatusCode.BadRequest)])
        {
            using var response = await client.PostAsync(new Uri("/append", UriKind.Relative), content);
            Assert.Equal((HttpVersion.Version20, status), (response.Version, response.StatusCode));
        }
        Assert.Equal(2, (await rig.ListAsync()).Count(one => one.Sha1Rows == 1_000));
    }

    [Fact]
    public async Task Logs_contain_no_hash_transaction_or_sender()
    {
        var lines = new CollectingLogger();
        using var logs = LoggerFactory.Create(logging => logging.SetMinimumLevel(LogLevel.Trace).AddProvider(lines));
        var written = new List<string>();
        foreach (var failing in (bool[])[false, true])
        {
            await using var rig = await SenderRig.StartAsync(logs: logs, replaceServices: services => _ = !failing ? services
                : services.Hook<IPasswordAppends>(method => throw new InvalidOperationException($"{Sha1} {NoSuch} {method}")));
            written.AddRange([rig.Key, ApiKey.HashOf(rig.Key)]);
            var sent = await rig.AppendAsync(One);
            if (sent.Status == 200)
            {
                written.Add(SenderRig.IdOf(sent));
                await rig.ConfirmAsync(written[^1]);
            }
            await rig.ConfirmAsync(NoSuch);
            await rig.AppendAsync(One + "x");
            await rig.AppendAsync($$"""[{"sha1":"{{Sha1}}","ntlm":"{{Ntlm}}1"}]""");
        }
        written.AddRange([Sha1, Ntlm, NoSuch]);
        Assert.Contains(lines.Lines, line => line.Text.StartsWith("/ingestion/append", StringComparison.Ordinal));
        Assert.All(lines.Lines, line => Assert.All(
            written, one => Assert.DoesNotContain(one, line.Text, StringComparison.OrdinalIgnoreCase)));
    }
}
