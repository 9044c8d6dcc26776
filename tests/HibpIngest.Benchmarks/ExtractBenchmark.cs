using System.IO.Compression;
using HibpIngest.Benchmarks.Peers;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Compares, in bytes of text: extraction (inflating, scanning, rules, dedupe) with inflating alone and with a pipe of common programs, and
/// scanning with a generated Regex.
/// </summary>
internal sealed class ExtractBenchmark(string zip) : IAccountSink
{
    private const int ReadBytes = 256 * 1024;
    private const int ScannedBytes = 32 * 1024 * 1024;
    private const string Pattern = @"[a-z0-9.\-+_]+@[a-z0-9.\-]+\.[a-z]{2,}";

    public async Task MeasureAsync(Pairs pairs)
    {
        await pairs.MeasureAsync("extract", "text byte", () => TimeAsync(() => Inflate(zip)), ExtractAsync);
        await pairs.MeasureAsync("extract, unzip, rg and sort its ceiling", "text byte", ExtractByPipeAsync, ExtractAsync);
        var text = ReadText();
        var decoded = Encoding.Latin1.GetString(text);
        await pairs.MeasureAsync("scan, a Regex its ceiling", "text byte", () => TimeAsync(FindByRegex), () => TimeAsync(Scan));

        long FindByRegex()
        {
            foreach (var match in PublishedPipeline.Address().EnumerateMatches(decoded))
                Add(text.AsSpan(match.Index, match.Length), 0);
            return text.Length;
        }

        long Scan()
        {
            var scanner = new AccountScanner(this, new RejectionCounts());
            for (var at = 0; at < text.Length; at += ReadBytes)
                scanner.Scan(text.AsSpan(at, Math.Min(ReadBytes, text.Length - at)));
            scanner.EndOfText();
            return text.Length;
        }
    }

    /// <summary>Receives an account of which nothing is kept.</summary>
    public void Add(ReadOnlySpan<byte> account, int aliasLength)
    {
    }

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

    private async Task<(double, TimeSpan)> ExtractByPipeAsync()
    {
        var bytes = Inflate(zip);
        var began = Stopwatch.GetTimestamp();
        await ExternalProgram.RunAsync("bash", "-c", $"unzip -p '{zip}' | rg -aoi '{Pattern}' | tr A-Z a-z | sort -u >/dev/null");
        return (bytes, Stopwatch.GetElapsedTime(began));
    }

    private byte[] ReadText()
    {
        using var archive = ZipFile.OpenRead(zip);
        using var text = archive.Entries[0].Open();
        var bytes = new byte[ScannedBytes];
        return bytes[..text.ReadAtLeast(bytes, ScannedBytes, throwOnEndOfStream: false)];
    }

    private static Task<(double, TimeSpan)> TimeAsync(Func<long> work)
    {
        var began = Stopwatch.GetTimestamp();
        var bytes = work();
        return Task.FromResult(((double)bytes, Stopwatch.GetElapsedTime(began)));
    }

    private async Task<(double, TimeSpan)> ExtractAsync()
    {
        var bytes = Inflate(zip); // only to count
        var load = NewLoad();
        var began = Stopwatch.GetTimestamp();
        await using var extraction = new AccountExtractor(File.OpenRead(zip), null, load, new DedupeSet(load.Settings.DedupeCap));
        extraction.Start();
        await foreach (var batch in extraction.Batches.ReadAllAsync())
            extraction.Return(batch);
        return (bytes, Stopwatch.GetElapsedTime(began));
    }

    private static long Inflate(string zip)
    {
        using var archive = ZipFile.OpenRead(zip);
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
