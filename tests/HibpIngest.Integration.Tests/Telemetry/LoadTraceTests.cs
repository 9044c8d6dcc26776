using System.Text.Json.Nodes;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Sweeping;
using static HibpIngest.Telemetry.TelemetryNames;

namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>Tests that a load is one trace, whichever process sent its messages, and that its spans have the tags operators need.</summary>
[Collection(ListeningAlone.Name)]
public sealed class LoadTraceTests
{
    private static readonly Action<TestOptions> Small = options =>
        (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Mail.MatchRows, options.Mail.MailsPerMessage) = (200, 100, 150, 1);

    [Fact]
    public void Trace_id_of_a_load_is_the_same_in_every_process_and_version() =>
        // python: hashlib.sha256(uuid.UUID('00112233-4455-6677-8899-aabbccddeeff').bytes + struct.pack('>q', 7)).hexdigest()[:32]
        Assert.Equal(
            "0aabe02aadcf87fcba018bdc2849a3e5", LoadTrace.Id(new Guid("00112233-4455-6677-8899-aabbccddeeff"), new(7)).ToHexString());

    [Fact]
    public async Task Load_with_continuations_is_one_connected_trace()
    {
        using var spans = new CollectedSpans();
        await using var rig = await PipelineRig.StartAsync(options =>
        {
            Small(options);
            options.Ingest.TimeBudget = TimeSpan.FromTicks(1);
        });
        await rig.ImportAsync(("user0@example.com", null), ("user3@example.com", null));
        await rig.DropAsync("Traced.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 450))));
        await rig.RunToEndAsync();

        var trace = await TraceAsync(rig, 1);
        Assert.All(spans.All, span => Assert.Equal((trace, "1", "Traced"), (span.TraceId, Tag(span, Tags.Load), Tag(span, Tags.Breach))));
        // Two full batches and the rest. A run may complete two of them: its budget is a tick, and so is the clock's step.
        var (loads, batches, slices, matches, sends) =
            (spans.Of(Spans.Load), spans.Of(Spans.Batch), spans.Of(Spans.Slice), spans.Of(Spans.Match), spans.Of(Spans.Send));
        Assert.InRange(loads.Count, 2, 4);
        Assert.Equal(["200", "200", "50"], batches.Select(batch => Tag(batch, Tags.Accounts)));
        Assert.Equal(["1", "2", "3"], batches.Select(batch => Tag(batch, Tags.Batch)));
        Assert.Equal(
            [("1", "100"), ("2", "100"), ("3", "100"), ("4", "100"), ("5", "50")],
            slices.Select(slice => (Tag(slice, Tags.Slice), Tag(slice, Tags.Entities))).Order());
        // Three ranges, each of which uses up the budget, and the end.
        Assert.Equal(4, matches.Count);
        Assert.Equal(["1", "1"], sends.Select(send => Tag(send, Tags.Sent)));

        // The first run is the root; later spans are children of the one that sent their message.
        Assert.Equal(default, loads[0].ParentSpanId);
        Assert.Equal(loads.SkipLast(1).Select(load => load.SpanId), loads.Skip(1).Select(load => load.ParentSpanId));
        Assert.All(batches, batch => Assert.Contains(loads, load => load.SpanId == batch.ParentSpanId));
        Assert.All(slices, slice => Assert.Contains(batches, batch => batch.SpanId == slice.ParentSpanId));
        Assert.Equal(5, spans.All.Count(span => span.OperationName == Spans.Slice && span.Kind == ActivityKind.Consumer));
        Assert.All(sends, send => Assert.Equal(matches[^1].SpanId, send.ParentSpanId));
        Assert.All(spans.All, span => Assert.NotEqual(ActivityStatusCode.Error, span.Status));
    }

    [Theory]
    [InlineData("lost")]
    [InlineData("twice")]
    [InlineData("by hand")]
    [InlineData("forged")]
    [InlineData("poison")]
    public async Task Messages_join_the_trace_of_their_load_however_they_were_sent(string how)
    {
        using var spans = new CollectedSpans();
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.ImportAsync(("user0@example.com", null));
        await rig.DropAsync("Other.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))));
        await rig.RunToEndAsync();
        await rig.DropAsync("Traced.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300))));
        await rig.RunToEndAsync();
        var before = spans.All.Count;
        var slices = rig.Context.Queues.Get(QueueNames.Slices);

        // Each load's later spans are one trace, separate from the other's.
        var trace = await TraceAsync(rig, 2);
        Assert.NotEqual(trace, await TraceAsync(rig, 1));
        Assert.NotEqual(0, before);
        Assert.All(spans.All, span => Assert.Equal(Tag(span, Tags.Breach) == "Traced", span.TraceId == trace));

        await rig.Context.Get<RequeueSlices>().RunAsync("Traced", slice: 2, failedOnly: false, None);
        var message = Assert.Single(await slices.ReceiveAsync(1, TimeSpan.FromMinutes(10), None));
        Assert.Null(JsonNode.Parse(message.Body)!["traceparent"]); // an operator's command has no span
        switch (how)
        {
            case "lost":
                await slices.DeleteAsync(message, None);
                clock.Advance(TimeSpan.FromHours(1));
                await rig.Context.Get<Sweep>().RunAsync(None);
                Assert.Equal(1, (await slices.GetDepthAsync(None)).Messages);
                await rig.RunToEndAsync();
                break;
            case "twice":
                await DispatchAsync(message.Body);
                await DispatchAsync(message.Body);
                break;
            case "by hand":
                await DispatchAsync("""{"version":1,"load":2,"slice":2}""");
                break;
            case "forged":
                await DispatchAsync(
                    """{"version":1,"load":2,"slice":2,"traceparent":"00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"}""");
                break;
            case "poison":
                await rig.Context.Queues.Get(QueueNames.Slices + QueueNames.PoisonSuffix).SendAsync(message.Body, TimeSpan.Zero, None);
                Assert.Equal(1, await rig.Context.Get<PoisonQueue>().RequeueAsync(QueueNames.Slices, None));
                await rig.RunToEndAsync();
                break;
        }
        var after = spans.All.Skip(before).ToList();
        Assert.NotEmpty(after);
        Assert.All(after, span => Assert.Equal((trace, "2"), (span.TraceId, Tag(span, Tags.Load))));
        Assert.All(after.Where(span => span.OperationName == Spans.Slice), span => Assert.Equal("2", Tag(span, Tags.Slice)));

        Task DispatchAsync(string body) => rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Slices, body, None);
    }

    [Fact]
    public async Task Resumed_load_continues_its_trace_and_the_failed_span_has_the_error()
    {
        using var spans = new CollectedSpans();
        await using var rig = await PipelineRig.StartAsync(Small);
        var zip = PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300)));
        await rig.DropAsync("Broken.zip", zip[..^20]);
        await rig.RunToEndAsync();
        var failed = Assert.Single(spans.All, span => span.OperationName == Spans.Load);
        Assert.Equal((ActivityStatusCode.Error, (await rig.LoadAsync(1)).Error), (failed.Status, failed.StatusDescription));

        await rig.Context.Get<ResumeLoad>().RunAsync(new(1), restart: false, password: null, None);
        await rig.RunToEndAsync();
        var resumed = spans.Of(Spans.Load);
        Assert.Equal(2, resumed.Count);
        Assert.Equal(failed.TraceId, resumed[1].TraceId);
    }

    private static async Task<ActivityTraceId> TraceAsync(PipelineRig rig, long load) =>
        LoadTrace.Id((await rig.Context.Database.GetIdentityAsync(None))!.Id, new(load));

    private static string Tag(Activity span, string name) => $"{span.GetTagItem(name)}";
}
