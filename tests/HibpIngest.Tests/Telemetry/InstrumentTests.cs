using System.Diagnostics.Metrics;
using System.Runtime.CompilerServices;
using HibpIngest.Storage.Azure.Tables;
using static HibpIngest.Telemetry.TelemetryNames;

namespace HibpIngest.Tests.Telemetry;

[Collection(ListeningAlone.Name)]
public sealed class InstrumentTests
{
    [Fact]
    public void Telemetry_allocates_nothing_without_a_listener()
    {
        var rejected = new long[Enum.GetValues<AccountRule>().Length];
        Emit(); // one-time allocations
        Assert.Equal(0, Allocations.Of(() =>
        {
            for (var i = 0; i < 1_000; i++)
                Emit();
        }));

        void Emit()
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
    public void The_telemetry_page_lists_every_instrument_and_span()
    {
        var page = DocumentFiles.Read("docs/telemetry.md");
        var published = new List<Instrument>();
        RuntimeHelpers.RunClassConstructor(
            typeof(StorageAccount).Assembly.GetType("HibpIngest.Storage.Azure.Tables.StorageTelemetry", throwOnError: true)!.TypeHandle);
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, _) =>
            {
                if (instrument.Meter == HibpTelemetry.Meter)
                    published.Add(instrument);
            },
        };
        listener.Start();
        Assert.Equal(Constants.Of(typeof(Instruments)).Order(), published.Select(instrument => instrument.Name).Order());
        Assert.All(
            published, instrument => Assert.Contains($"\n| `{instrument.Name}` | {instrument.Unit} | ", page, StringComparison.Ordinal));
        Assert.All(Constants.Of(typeof(Spans)), span => Assert.Contains($"\n| `{span}` | ", page, StringComparison.Ordinal));
    }

    [Fact]
    public void Names_of_spans_tags_and_instruments_are_unique()
    {
        foreach (var kind in (Type[])[typeof(Spans), typeof(Tags), typeof(Instruments)])
            Assert.Equal(Constants.Of(kind).Distinct(), Constants.Of(kind));
    }
}
