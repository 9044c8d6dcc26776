using System.Diagnostics.Tracing;
using Azure.Core.Pipeline;
using Azure.Storage;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Specialized;
using Azure.Storage.Queues;
using Azure.Storage.Sas;
using HibpIngest.Storage.Azure.Blobs;
using HibpIngest.Storage.Azure.Connections;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Integration.Tests.AzureStorage;

public sealed class StorageAccountTests
{
    private static readonly StorageOptions Quick = new() { MaxRetries = 1, RetryDelay = TimeSpan.FromMilliseconds(5) };

    [Fact]
    public async Task Shared_access_signature_grants_all_services_until_it_expires()
    {
        var connection = await AzuriteFixture.NewAccountAsync();
        using var good = StorageAccount.Open(
            WithSignature(connection, DateTimeOffset.MaxValue.AddDays(-1)), NullLoggerFactory.Instance, Quick);
        await UseAllAsync(good);

        using var expired = StorageAccount.Open(
            WithSignature(connection, DateTimeOffset.UnixEpoch.AddYears(40)), NullLoggerFactory.Instance, Quick);
        await AssertRefusedAsync(expired);
    }

    [Fact]
    public async Task Missing_store_is_refused_naming_the_operation()
    {
        using var store = await AzuriteStorage.OpenAsync(Quick);
        await AssertRefusedAsync(store);
        var error = await Assert.ThrowsAsync<StoreMissingException>(() => store.Table.UpsertAsync("example.com", 1, "anna", "bert"));
        Assert.Matches(@"^upsert of 2 accounts( \(number 1 of them\))? failed: status 404 \(TableNotFound\)$", error.Message);
        await Assert.ThrowsAsync<StoreMissingException>(() => store.Blobs.FindAsync("a.zip", None));
        await Assert.ThrowsAsync<StoreMissingException>(() => store.Register.GetIdentityAsync(None));
        await Assert.ThrowsAsync<StoreMissingException>(() => store.Queues.Get("missing").GetDepthAsync(None));
        await Assert.ThrowsAsync<StoreMissingException>(
            () => store.Queues.Get("missing").ExtendAsync(new("id", "receipt", "", 1), TimeSpan.Zero, None));
    }

    [Fact]
    public async Task Names_and_prefixes_separate_two_stores_in_one_account()
    {
        var connection = await AzuriteFixture.NewAccountAsync();
        using var first = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        using var second = StorageAccount.Open(
            connection, NullLoggerFactory.Instance,
            new StorageOptions { TablePrefix = "other", RegisterTable = "otherstore", BreachContainer = "drops", QueuePrefix = "test-" });
        await UseAllAsync(first);
        await AssertRefusedAsync(second);
        await UseAllAsync(second);
    }

    [Fact]
    public async Task Plain_text_queue_bodies_are_read_unchanged()
    {
        var connection = await AzuriteFixture.NewAccountAsync();
        using var store = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        var queue = store.Queues.Get("breach-test");
        await queue.CreateAsync(None);
        var raw = new QueueClient(connection, "breach-test");
        await raw.SendMessageAsync("""{"v":1}""");
        await raw.SendMessageAsync("/////w=="); // base64 of invalid UTF-8
        Assert.Equal(["""{"v":1}""", "/////w=="], (await queue.PeekAsync(2, None)).Select(message => message.Body));

        await queue.ClearAsync(None);
        await queue.SendAsync("""{"v":2}""", TimeSpan.Zero, None);
        var sent = (await raw.PeekMessageAsync()).Value;
        Assert.Equal("""{"v":2}""", Encoding.UTF8.GetString(Convert.FromBase64String(sent.MessageText)));
        Assert.InRange(sent.ExpiresOn!.Value.Year, 3000, 9999);
    }

    [Fact]
    public async Task Upload_resumes_with_the_blocks_already_staged()
    {
        const int MiB = 1024 * 1024;
        var connection = await AzuriteFixture.NewAccountAsync();
        using var store = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        await store.Blobs.CreateAsync(None);
        var content = new byte[26 * MiB];
        new Random(17).NextBytes(content);
        var (sent, staged) = (0, 0);
        var twoStaged = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Assert.ThrowsAnyAsync<HibpException>(() => UploadAsync(async send =>
        {
            if (Interlocked.Increment(ref sent) > 2)
            {
                await twoStaged.Task.WaitAsync(TimeSpan.FromMinutes(1));
                throw new HttpRequestException("the connection was lost");
            }
            var response = await send();
            if (Interlocked.Increment(ref staged) == 2)
                twoStaged.SetResult();
            return response;
        }));
        sent = 0;
        await UploadAsync(send =>
        {
            Interlocked.Increment(ref sent);
            return send();
        });
        Assert.Equal(2, sent); // four blocks, two of which existed
        using var back = new MemoryStream();
        await new BlobClient(connection, "breach", "a.zip").DownloadToAsync(back);
        Assert.True(content.AsSpan().SequenceEqual(back.ToArray()));

        async Task UploadAsync(Func<Func<Task<HttpResponseMessage>>, Task<HttpResponseMessage>> aroundBlock)
        {
            using var client = new HttpClient(new AroundHandler((request, send) =>
                request.RequestUri!.Query.Contains("comp=block&", StringComparison.Ordinal) ? aroundBlock(send) : send()));
            var blob = new BlockBlobClient(
                connection, "breach", "a.zip", new() { Transport = new HttpClientTransport(client), Retry = { MaxRetries = 0 } });
            await BlockUpload.RunAsync(blob, new MemoryStream(content), null, None);
        }
    }

    [Fact]
    public async Task Ranges_are_fetched_once_and_read_ahead_for_a_sequential_reader()
    {
        const int Range = BlobVersionStream.RangeBytes;
        var connection = await AzuriteFixture.NewAccountAsync();
        using var store = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        await store.Blobs.CreateAsync(None);
        var content = new byte[(4 * Range) + 1000];
        var version = await store.Blobs.UploadAsync("a.zip", new MemoryStream(content), null, None);

        var fetched = new List<string>();
        using var client = new HttpClient(new AroundHandler((request, send) =>
        {
            lock (fetched)
                fetched.Add(request.Headers.TryGetValues("x-ms-range", out var range) ? range.First() : request.Method.Method);
            return send();
        }));
        var blob = new BlobClient(connection, "breach", "a.zip", new() { Transport = new HttpClientTransport(client) });
        await using var stream = new BlobVersionStream(blob, version, content.Length);
        static string Bytes(long from, long to) => $"bytes={from}-{to - 1}";

        // A zip's directory, read back and forth, and an entry's header: at most the surrounding grain is fetched.
        const int Grain = BlobVersionStream.GrainBytes;
        var buffer = new byte[200_000];
        foreach (var at in (long[])[content.Length - 22, content.Length - 900, 0, content.Length - 500, 30])
        {
            stream.Position = at;
            await stream.ReadExactlyAsync(buffer.AsMemory(0, 20));
        }

        Assert.Equal([Bytes(4L * Range, content.Length), Bytes(0, Grain)], fetched);

        // An entry's content: the requested bytes, then as much read-ahead as has been read.
        await stream.ReadExactlyAsync(buffer.AsMemory(0, 100_000));
        Assert.Equal([Bytes(Grain, 7 * Grain)], fetched.Skip(2));
        await stream.ReadExactlyAsync(buffer.AsMemory(0, 14_000));
        Assert.Equal([Bytes(7 * Grain, 14 * Grain)], fetched.Skip(3));
    }

    public static TheoryData<int> Statuses => [400, 401, 403, 404, 409, 412, 500, 503, 507];

    [Theory]
    [MemberData(nameof(Statuses))]
    public async Task Errors_contain_no_address_and_no_key(int status)
    {
        // The service's error may contain the request and the signed string.
        var secrets = $"alice.secret@private.example {LoopbackServer.Key} "
            + "/loopback/accounts(PartitionKey='private.example',RowKey='alice.secret')";
        // A throttled transaction is retried until the slice's timeout, which ends here with the first retry.
        CancellationTokenSource timeout = null!;
        var requests = 0;
        await using var server = await LoopbackServer.StartAsync(async (context, _, _) =>
        {
            if (status == 503 && ++requests > 1)
                await timeout.CancelAsync();
            var isBatch = context.Request.Path.Value!.EndsWith("$batch", StringComparison.Ordinal);
            await (isBatch && status != 401
                ? LoopbackServer.FailAsync(context, status, secrets, 0, secrets)
                : LoopbackServer.JsonAsync(
                    context, status, $$$$"""{"odata.error":{"code":"{{{{secrets}}}}","message":{"lang":"","value":"{{{{secrets}}}}"}}}"""));
        });
        using var store = StorageAccount.Open(server.ConnectionString, NullLoggerFactory.Instance, Quick);
        Func<Task>[] calls =
        [
            () => store.Table.UpsertAsync("private.example", 1, new TransactionsInFlight(1, timeout.Token), "alice.secret", "bob.secret"),
            () => store.Table.UpsertAsync("private.example", 1, new TransactionsInFlight(1, timeout.Token), "alice.secret"),
            () => store.Accounts.GetMarksAsync(new Account("alice.secret", "private.example"), 1, None),
            () =>
                store.Table.ListAliasesAsync("private.example", [1], None).GetAsyncEnumerator().MoveNextAsync().AsTask(),
        ];
        foreach (var call in calls)
        {
            (timeout, requests) = (new CancellationTokenSource(), 0);
            var error = await Assert.ThrowsAnyAsync<HibpException>(call);
            timeout.Dispose();
            Assert.Contains($"status {status}", error.Message, StringComparison.Ordinal);
            foreach (var secret in (string[])["secret", "private.example", LoopbackServer.Key])
                Assert.DoesNotContain(secret, error.ToString(), StringComparison.OrdinalIgnoreCase);
        }
    }

    [Fact]
    public async Task Traces_and_client_logs_contain_no_address()
    {
        using var events = new AzureCoreEvents();
        var traces = new ConcurrentQueue<string>();
        using var listener = new ActivityListener
        {
            ShouldListenTo = _ => true,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = activity =>
                traces.Enqueue($"{activity.DisplayName} {string.Join(' ', activity.TagObjects.Select(tag => $"{tag.Key}={tag.Value}"))}"),
        };
        ActivitySource.AddActivityListener(listener);
        using var store = await AzuriteStorage.OpenAsync();
        await store.Table.CreateAsync(None);
        await store.Table.UpsertAsync("private7.example", 1, "alice.private7", "bob.private7");
        await store.Table.UpsertAsync("private7.example", 2, "alice.private7");
        await store.Accounts.GetMarksAsync(new Account("alice.private7", "private7.example"), 1, None);
        await store.Accounts.GetMarksAsync(new Account("nobody.private7", "private7.example"), 1, None);
        await store.Accounts.HasMoreAccountsAsync("private7.example", 0, None);
        await foreach (var _ in store.Table.ListAliasesAsync("private7.example", [1], None)) { }
        await store.Table.RemoveMarkAsync("private7.example", ["alice.private7", "bob.private7"], 1, None);
        await store.Table.RemoveMarkAsync("private7.example", ["alice.private7"], 2, None);
        await store.Table.RemoveMarkFromTableAsync(2);
        await store.Table.DropAsync(None);
        await Assert.ThrowsAsync<StoreMissingException>(
            () => store.Accounts.GetMarksAsync(new Account("alice.private7", "private7.example"), 1, None));
        await store.Blobs.CreateAsync(None);

        // The listeners work: another client's request, and data that identifies nobody, are seen.
        using var another = new HttpClient();
        using var answer = await another.GetAsync(new Uri($"{store.TableEndpoint}/control"));
        Assert.Contains(traces, trace => trace.Contains("/control", StringComparison.Ordinal));
        Assert.Contains(events.Seen, seen => seen.Contains("/breach", StringComparison.Ordinal));
        // A word of this test only: the listeners also hear the tests that run concurrently.
        foreach (var seen in traces.Concat(events.Seen))
            Assert.DoesNotContain("private7", seen, StringComparison.OrdinalIgnoreCase);
    }

    internal static async Task UseAllAsync(StorageAccount store)
    {
        await store.Table.CreateAsync(None);
        await store.Table.UpsertAsync("example.com", 1, "anna", "b+rt");
        Assert.Equal([1], await store.Accounts.GetMarksAsync(new Account("b+rt", "example.com"), 1, None));
        Assert.Equal(["anna", "b+rt"], await store.Table.ListAliasesAsync("example.com", [1], None).ToListAsync());
        await store.Register.CreateAsync(None);
        await store.Register.MarkOpenAsync(new(1), None);
        Assert.Single(await store.Register.ListOpenAsync(None));
        await store.Blobs.CreateAsync(None);
        await store.Blobs.WriteSmallAsync("a.json", "{}"u8.ToArray(), None);
        Assert.Equal("{}"u8.ToArray(), await store.Blobs.ReadSmallAsync("a.json", 10, None));
        var queue = store.Queues.Get("breach-test");
        await queue.CreateAsync(None);
        await queue.SendAsync("{}", TimeSpan.Zero, None);
        Assert.Single(await queue.PeekAsync(32, None));
    }

    private static async Task AssertRefusedAsync(StorageAccount store)
    {
        Func<Task>[] calls =
        [
            () => store.Table.UpsertAsync("example.com", 1, "anna", "bert"),
            () => store.Table.UpsertAsync("example.com", 1, "anna"),
            () => store.Accounts.GetMarksAsync(new Account("anna", "example.com"), 1, None),
            () => store.Table.RemoveMarkAsync(1, 0, null, None),
            () => store.Table.RemoveMarkAsync("example.com", ["anna"], 1, None),
            () => store.Register.GetIdentityAsync(None),
            () => store.Register.AddReceiptAsync(new BlobVersion("a.zip", "\"1\""), None),
            () => store.Blobs.FindAsync("a.json", None),
            () => store.Blobs.OpenAsync(new BlobVersion("a.json", "\"1\""), None),
            () => store.Blobs.ReadSmallAsync("a.json", 10, None),
            () => store.Blobs.UploadAsync("a.zip", new MemoryStream([1, 2, 3]), null, None),
            () => store.Blobs.ListDropsAsync(None).GetAsyncEnumerator().MoveNextAsync().AsTask(),
            () => store.Queues.Get("breach-test").SendAsync("{}", TimeSpan.Zero, None),
            () => store.Queues.Get("breach-test").ReceiveAsync(1, TimeSpan.FromSeconds(1), None),
            () => store.Queues.Get("breach-test").GetDepthAsync(None),
        ];
        for (var i = 0; i < calls.Length; i++)
        {
            var error = await Record.ExceptionAsync(calls[i]);
            Assert.True(error is StoreRefusedException, $"call {i}: {error}");
            Assert.Matches("failed: status 40[134]", error.Message);
            Assert.True(
                error.Message.Contains("status 404", StringComparison.Ordinal) == (error is StoreMissingException),
                $"call {i}: {error.Message}");
        }
    }

    private static string WithSignature(string connection, DateTimeOffset expires)
    {
        var parts = ConnectionStrings.Settings(connection);
        var builder = new AccountSasBuilder(
            AccountSasPermissions.All, expires, AccountSasServices.Blobs | AccountSasServices.Queues | AccountSasServices.Tables,
            AccountSasResourceTypes.All);
        var signature = builder.ToSasQueryParameters(new StorageSharedKeyCredential(parts["AccountName"], parts["AccountKey"]));
        return $"BlobEndpoint={parts["BlobEndpoint"]};QueueEndpoint={parts["QueueEndpoint"]};TableEndpoint={parts["TableEndpoint"]};"
            + $"SharedAccessSignature={signature}";
    }

    /// <summary>Events logged by the client libraries.</summary>
    private sealed class AzureCoreEvents : EventListener
    {
        private readonly ConcurrentQueue<string> _seen = [];

        public IEnumerable<string> Seen => _seen;

        protected override void OnEventSourceCreated(EventSource eventSource)
        {
            if (eventSource.Name.StartsWith("Azure", StringComparison.Ordinal))
                EnableEvents(eventSource, EventLevel.Verbose);
        }

        protected override void OnEventWritten(EventWrittenEventArgs eventData) =>
            _seen?.Enqueue($"{eventData.EventName} {string.Join(' ', eventData.Payload ?? [])}");
    }
}
