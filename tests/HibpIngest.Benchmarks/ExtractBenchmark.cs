using System.Diagnostics;
using System.IO.Compression;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Benchmarks;

/// <summary>Compares extraction (inflating, scanning, rules, dedupe) with inflating alone, in bytes of text.</summary>
internal sealed class ExtractBenchmark(string zip)
{
    private const int ReadBytes = 256 * 1024;

    public Task MeasureAsync(Pairs pairs) => pairs.MeasureAsync("extract", "text byte", InflateAsync, ExtractAsync);

    private static Load NewLoad() => new()
    {
        Id = new(1),
        Breach = "Bench",
        Blob = new BlobVersion("Bench.zip", "\"1\""),
        State = LoadState.Ingesting,
        Settings = LoadStart.NewSettings(new IngestOptions()),
        Checkpoint = new LoadCheckpoint(),
        StartedAt = DateTimeOffset.UnixEpoch,
    };

    private Task<(double, TimeSpan)> InflateAsync()
    {
        using var file = File.OpenRead(zip);
        var began = Stopwatch.GetTimestamp();
        var bytes = Inflate(file);
        return Task.FromResult(((double)bytes, Stopwatch.GetElapsedTime(began)));
    }

    private async Task<(double, TimeSpan)> ExtractAsync()
    {
        long bytes;
        using (var file = File.OpenRead(zip))
            bytes = Inflate(file); // only to count
        var load = NewLoad();
        var began = Stopwatch.GetTimestamp();
        await using var extraction = new AccountExtractor(File.OpenRead(zip), null, load, new DedupeSet(load.Settings.DedupeCap));
        extraction.Start();
        await foreach (var batch in extraction.Batches.ReadAllAsync())
            extraction.Return(batch);
        return (bytes, Stopwatch.GetElapsedTime(began));
    }

    private static long Inflate(Stream file)
    {
        using var archive = new ZipArchive(file);
        var buffer = new byte[ReadBytes];
        var bytes = 0L;
        foreach (var entry in archive.Entries)
        {
            using var text = entry.Open();
            for (int read; (read = text.Read(buffer)) > 0;)
                bytes += read;
        }
        return bytes;
    }
}
