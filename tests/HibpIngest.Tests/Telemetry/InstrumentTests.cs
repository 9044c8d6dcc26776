using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Reflection;
using System.Runtime.CompilerServices;
using HibpIngest.Accounts;
using HibpIngest.AzureStorage;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using HibpIngest.Telemetry;
using HibpIngest.Tests.EndToEnd;
using static HibpIngest.Telemetry.TelemetryNames;

namespace HibpIngest.Tests.Telemetry;

/// <summary>
/// What the instruments say of a load whose figures are known, and that they cost nothing while nobody listens.
/// </summary>
[Collection(ListeningAlone.Name)]
public sealed class InstrumentTests
{
    [Fact]
    public async Task The_figures_of_a_load_are_those_that_went_in()
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

        await using var rig = await PipelineRig.StartAsync(options => (options.BatchRows, options.SliceRows) = (200, 100));
        await rig.ImportAsync(("user0@example.com", null), ("owner@example.net", "example.com"));
        var bytes = string.Concat(PipelineRig.Expected(0, 500)).Length - 500; // without their @
        var text = PipelineRig.Accounts(0, 500) + PipelineRig.Accounts(0, 25) + "..x@example.com\nx@example.nonsense\ny@example.nonsense\n";
        await rig.DropAsync("Counted.zip", PipelineRig.Zip(("a", text)));
        await rig.RunToEndAsync();
        // A message that failed too often, for the gauge of its queue.
        await rig.Context.Queues.Get(QueueNames.Mail + QueueNames.PoisonSuffix).SendAsync("{}", TimeSpan.Zero, CancellationToken.None);
        await rig.Context.NewSweep().RunAsync(CancellationToken.None);

        Assert.Equal(525, Sum(Instruments.Accounts));
        Assert.Equal(25, Sum(Instruments.Duplicates));
        Assert.Equal(1, Sum(Instruments.Rejected, $"{Tags.Rule}={AccountRule.AliasPeriod}"));
        Assert.Equal(2, Sum(Instruments.Rejected, $"{Tags.Rule}={AccountRule.TopLevelDomain}"));
        Assert.Equal(3, Sum(Instruments.Rejected));
        Assert.Equal((500, bytes), (Sum(Instruments.Rows), Sum(Instruments.Bytes)));
        Assert.Equal((3, 5), (Count(Instruments.BatchDuration), Count(Instruments.SliceDuration)));
        Assert.Equal(500, Sum(Instruments.Entities));
        Assert.InRange(Sum(Instruments.TableTransactions), 5 * 18, 500);
        Assert.Equal((2, 0), (Sum(Instruments.Notifications, $"{Tags.Outcome}=sent"), Sum(Instruments.Notifications, $"{Tags.Outcome}=refused")));
        foreach (var rare in (string[])[Instruments.TableThrottled, Instruments.TableRetries, Instruments.SqlThrottled, Instruments.SqlRetries])
            Assert.True(Count(rare) > 0 && Sum(rare) == 0, rare);
        Assert.Equal(1, Sum(Instruments.QueueMessages, $"{Tags.Queue}={QueueNames.Mail}{QueueNames.PoisonSuffix}"));
        Assert.Equal((8, 1), (Count(Instruments.QueueMessages), Sum(Instruments.QueueMessages)));
        Assert.Equal(8, Count(Instruments.QueueOldest));

        // With the last slice, after matching, after the last mail, and seen by the sweep.
        var progress = seen.Where(one => one.Name == Instruments.LoadProgress).ToList();
        Assert.All(progress, one => Assert.Equal(100, one.Value));
        Assert.Equal(Enumerable.Repeat($"{Tags.Load}=1 {Tags.Breach}=Counted", 4), progress.Select(one => one.Tags));
        Assert.Equal(4 * 5, Sum(Instruments.LoadSlices, $"{Tags.State}=done"));
        Assert.Equal(Constants(typeof(Instruments)).Order(), seen.Select(one => one.Name).Distinct().Order());

        double Sum(string name, string tag = "") => seen.Where(one => one.Name == name && one.Tags.Contains(tag, StringComparison.Ordinal)).Sum(one => one.Value);
        int Count(string name) => seen.Count(one => one.Name == name);
    }

    [Fact]
    public void Nothing_is_allocated_while_nobody_listens()
    {
        var rejected = new long[Enum.GetValues<AccountRule>().Length];
        Tell(); // what is made once
        var before = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < 1_000; i++)
            Tell();
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);

        void Tell()
        {
            HibpTelemetry.Extracted(8_192, 1, rejected, rejected);
            HibpTelemetry.BatchCopied(20_000, 500_000, TimeSpan.FromSeconds(1));
            HibpTelemetry.SliceUpserted(10_000, TimeSpan.FromSeconds(1));
            HibpTelemetry.SqlCalled(0, 0);
            HibpTelemetry.Notified(1, 0);
            using var span = HibpTelemetry.Source.StartActivity(Spans.Batch)?.SetTag(Tags.Load, 1);
        }
    }

    [Fact]
    public void The_documents_have_every_name_with_its_unit()
    {
        var page = DocumentFiles.Read("docs/telemetry.md");
        var published = new List<Instrument>();
        RuntimeHelpers.RunClassConstructor(typeof(StorageAccount).Assembly.GetType("HibpIngest.AzureStorage.StorageTelemetry", throwOnError: true)!.TypeHandle);
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, _) =>
            {
                if (instrument.Meter == HibpTelemetry.Meter)
                    published.Add(instrument);
            },
        };
        listener.Start();
        Assert.Equal(Constants(typeof(Instruments)).Order(), published.Select(instrument => instrument.Name).Order());
        Assert.All(published, instrument => Assert.Contains($"\n| `{instrument.Name}` | {instrument.Unit} | ", page, StringComparison.Ordinal));
        Assert.All(Constants(typeof(Spans)), span => Assert.Contains($"\n| `{span}` | ", page, StringComparison.Ordinal));
    }

    [Fact]
    public void Every_name_is_its_own()
    {
        foreach (var kind in (Type[])[typeof(Spans), typeof(Tags), typeof(Instruments)])
            Assert.Equal(Constants(kind).Distinct(), Constants(kind));
    }

    /// <summary>The values of a class's constants.</summary>
    internal static IReadOnlyList<string> Constants(Type type) => [.. type.GetFields(BindingFlags.Public | BindingFlags.Static).Select(field => field.GetRawConstantValue()).OfType<string>()];

    private static string Text(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        var text = new List<string>();
        foreach (var (name, value) in tags)
            text.Add($"{name}={value}");
        return string.Join(' ', text);
    }
}
