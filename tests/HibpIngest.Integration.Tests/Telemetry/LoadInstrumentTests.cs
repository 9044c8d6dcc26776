using System.Diagnostics.Metrics;
using HibpIngest.Pipeline.Sweeping;
using static HibpIngest.Telemetry.TelemetryNames;

namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>Tests the instruments' values for a load with known figures.</summary>
[Collection(ListeningAlone.Name)]
public sealed class LoadInstrumentTests
{
    private static readonly string[] Unused =
        [Instruments.WebDuration, Instruments.AccessRecords, Instruments.AccessAppends, Instruments.Callbacks, Instruments.CallbackOldest];

    [Fact]
    public async Task Instruments_report_the_figures_of_the_load()
    {
        var seen = new ConcurrentQueue<(string Name, double Value, string Tags)>();
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, self) =>
            {
                if (instrument.Meter == HibpTelemetry.Meter)
                    self.EnableMeasurementEvents(instrument);
            },
        };
        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => seen.Enqueue((instrument.Name, value, Text(tags))));
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) => seen.Enqueue((instrument.Name, value, Text(tags))));
        listener.Start();

        await using var rig = await PipelineRig.StartAsync(options =>
            (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.Ranges) = (200, 100, RangesMode.On));
        await rig.ImportAsync(("user0@example.com", null), ("owner@example.net", "example.com"));
        var bytes = string.Concat(PipelineRig.Expected(0, 500)).Length - 500; // without the @
        var text = PipelineRig.Accounts(0, 500) + PipelineRig.Accounts(0, 25) + "..x@example.com\nx@example.nonsense\ny@example.nonsense\n";
        await rig.DropAsync("Counted.zip", PipelineRig.Zip(("a", text)));
        await rig.RunToEndAsync();
        // A poisoned message, for the gauge of its queue.
        await rig.Context.Queues.Get(QueueNames.Mail + QueueNames.PoisonSuffix).SendAsync("{}", TimeSpan.Zero, None);
        await rig.Context.Get<Sweep>().RunAsync(None);

        Assert.Equal(525, Sum(Instruments.Accounts));
        Assert.Equal(25, Sum(Instruments.Duplicates));
        Assert.Equal(1, Sum(Instruments.Rejected, $"{Tags.Rule}={AccountRule.AliasPeriod}"));
        Assert.Equal(2, Sum(Instruments.Rejected, $"{Tags.Rule}={AccountRule.TopLevelDomain}"));
        Assert.Equal(3, Sum(Instruments.Rejected));
        Assert.Equal((500, bytes), (Sum(Instruments.Rows), Sum(Instruments.Bytes)));
        Assert.Equal((3, 5), (Count(Instruments.BatchDuration), Count(Instruments.SliceDuration)));
        Assert.Equal(500, Sum(Instruments.Entities));
        // Accounts in about 18 domains per slice, and hashes in up to one partition each.
        Assert.InRange(Sum(Instruments.TableTransactions), 5 * 18 + 5 * 50, 2 * 500);
        Assert.Equal(
            (2, 0), (Sum(Instruments.Notifications, $"{Tags.Outcome}=sent"), Sum(Instruments.Notifications, $"{Tags.Outcome}=refused")));
        foreach (var rare in
            (string[])[Instruments.TableThrottled, Instruments.TableRetries, Instruments.SqlThrottled, Instruments.SqlRetries])
            Assert.True(Count(rare) > 0 && Sum(rare) == 0, rare);
        Assert.Equal(1, Sum(Instruments.QueueMessages, $"{Tags.Queue}={QueueNames.Mail}{QueueNames.PoisonSuffix}"));
        Assert.Equal((2 * QueueNames.All.Count, 1), (Count(Instruments.QueueMessages), Sum(Instruments.QueueMessages)));
        Assert.Equal(2 * QueueNames.All.Count, Count(Instruments.QueueOldest));

        // After the last slice, after matching, after the last mail, and in the sweep.
        var progress = seen.Where(one => one.Name == Instruments.LoadProgress).ToList();
        Assert.All(progress, one => Assert.Equal(100, one.Value));
        Assert.Equal(Enumerable.Repeat($"{Tags.Load}=1 {Tags.Breach}=Counted", 4), progress.Select(one => one.Tags));
        Assert.Equal(4 * 5, Sum(Instruments.LoadSlices, $"{Tags.State}=done"));
        // All except the API's and the callbacks', which aren't used here.
        Assert.Equal(
            Constants.Of(typeof(Instruments)).Except(Unused).Order(), seen.Select(one => one.Name).Distinct().Except(Unused).Order());

        double Sum(string name, string tag = "") =>
            seen.Where(one => one.Name == name && one.Tags.Contains(tag, StringComparison.Ordinal)).Sum(one => one.Value);
        int Count(string name) => seen.Count(one => one.Name == name);
    }

    private static string Text(ReadOnlySpan<KeyValuePair<string, object?>> tags) =>
        string.Join(' ', tags.ToArray().Select(tag => $"{tag.Key}={tag.Value}"));
}
