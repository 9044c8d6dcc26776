using System.Text.Json.Serialization;
using HibpIngest.Cli.Samples;
using HibpIngest.Journal.Files;
using HibpIngest.Journal.Segments;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures a segment of the journal: its size, and the speed of writing and reading it, compared with reading
/// the same file, decompressing it only, SQLite range scans and JSON lines. Rates are per processor time of one
/// thread, the best of 15 rounds.
/// </summary>
internal sealed class LogBenchmark(int accounts, int others, string folder)
{
    private const double MaxBytes = 12.9;

    /// <summary>Ratio to the accounts per second that System.Text.Json reads from lines, in the same run.</summary>
    private const double LeastOverJson = 14;

    /// <summary>The few objects of a pass count as 8 KB, which the runtime hands to a thread at once.</summary>
    private const double MaxAllocated = 0.01;

    private const int Rounds = 15;

    private readonly SampleAccounts _samples = new(1);

    public async Task<bool> RunAsync()
    {
        var file = Path.Combine(folder, "1.alog");
        var write = Write(file, BlockCodec.Lz4, accounts);
        var bytes = new FileInfo(file).Length;
        var perAccount = (double)bytes / accounts;
        var decoded = Repeat(() => Decode(file));
        var plain = Repeat(() => ReadPlain(file));
        var allocated = (double)decoded.AllocatedBytes / accounts;

        Console.WriteLine($"{accounts:N0} accounts of the sample, slices of {LoadSettings.DefaultSliceRows:N0}, {bytes / 1e6:N1} MB");
        Console.WriteLine(
            "| what | B/account | million accounts/s, CPU | by the clock | MB/s by the clock | ms for 100 MB | B allocated/account |");
        Console.WriteLine("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
        Print("write (sort, front-code, LZ4, checksum)", accounts, bytes, write);
        Print("read, check, decode", accounts, bytes, decoded);
        Print("plain read of the same file", accounts, bytes, plain);
        Print("SegmentReader over FolderLog, all threads", accounts, bytes, await ReadAsync());
        foreach (var codec in new[] { BlockCodec.None, BlockCodec.Brotli })
        {
            var other = Path.Combine(folder, $"{codec}.alog");
            var written = Write(other, codec, others);
            var length = new FileInfo(other).Length;
            Print($"write, {codec}, {others:N0}", others, length, written);
            Print($"read, check, decode, {codec}", others, length, Repeat(() => Decode(other)));
        }
        var json = Path.Combine(folder, "rows.jsonl");
        WriteJson(json);
        var parsed = Repeat(() => ReadJson(json));
        Print($"JSON lines, System.Text.Json, {others:N0}", others, new FileInfo(json).Length, parsed);
        var (database, time) = await ReadSqliteAsync();
        Print($"range scans of SQLite, {others:N0}", others, database, time);
        // Alternately, so that a slower machine slows both.
        var pairs = new Pairs(Rounds);
        await pairs.MeasureAsync(
            "read, check, decode; ceiling: read, check, decompress", "account", () => RateOfAsync(Decode(file, decodes: false)),
            () => RateOfAsync(Decode(file)));
        Console.WriteLine();
        pairs.Print(0);
        var overJson = accounts / decoded.Cpu.TotalSeconds / (others / parsed.Cpu.TotalSeconds);
        Console.WriteLine();
        Console.WriteLine(
            $"{perAccount:F2} bytes an account (at most {MaxBytes}), {overJson:F1} times the accounts/s of JSON lines (at least "
            + $"{LeastOverJson}), {allocated:F4} bytes allocated an account (at most {MaxAllocated})");
        return perAccount <= MaxBytes && overJson >= LeastOverJson && allocated <= MaxAllocated;
    }

    /// <summary>Returns the least of each figure: any excess is due to other processes.</summary>
    private static ThreadTime Repeat(Func<ThreadTime> run)
    {
        // Until tiered compilation has finished, which takes a while on a busy machine.
        for (var began = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(began) < TimeSpan.FromSeconds(1);)
            run();
        var times = Enumerable.Range(0, Rounds).Select(_ => run()).ToList();
        return new ThreadTime(
            times.Min(time => time.Wall), times.Min(time => time.Cpu), times.Min(time => time.AllocatedBytes));
    }

    private ThreadTime Write(string file, BlockCodec codec, int count)
    {
        using var output = new MemoryStream(count * 20);
        using var writer = new SegmentWriter(output, Facts(count), codec);
        var total = default(ThreadTime);
        foreach (var (number, slice) in Slices(count).Index())
        {
            total = Add(
                total, ThreadTime.Of(() => writer.AddAsync(number + 1, slice, CancellationToken.None).AsTask().GetAwaiter().GetResult()));
        }
        total = Add(total, ThreadTime.Of(() => writer.SealAsync(CancellationToken.None).GetAwaiter().GetResult()));
        File.WriteAllBytes(file, output.ToArray());
        return total;

        static ThreadTime Add(ThreadTime one, ThreadTime other) =>
            new(one.Wall + other.Wall, one.Cpu + other.Cpu, one.AllocatedBytes + other.AllocatedBytes);
    }

    private Task<(double, TimeSpan)> RateOfAsync(ThreadTime time) => Task.FromResult(((double)accounts, time.Cpu));

    /// <summary>Decodes everything on this thread, or only checks and decompresses it; the reader uses two.</summary>
    private static ThreadTime Decode(string path, bool decodes = true)
    {
        using var file = File.OpenHandle(path, options: FileOptions.SequentialScan);
        var (index, buffer, raw) = Open(path, file);
        var visitor = default(TouchVisitor);
        return ThreadTime.Of(() =>
        {
            for (int first = 0, end; first < index.Blocks.Length; first = end)
            {
                end = SegmentScan.EndOfGroup(index, first);
                var group = buffer.AsSpan(0, (int)(index.Blocks[end - 1].End - index.Blocks[first].Offset));
                if (RandomAccess.Read(file, group, index.Blocks[first].Offset) != group.Length)
                    throw new InvalidOperationException("the file is too short");
                if (decodes)
                {
                    SegmentScan.Decode(index, first, end, group, raw, ref visitor);
                    continue;
                }
                foreach (ref readonly var block in index.Blocks[first..end])
                {
                    var bytes = group.Slice((int)(block.Offset - index.Blocks[first].Offset), (int)(block.End - block.Offset));
                    var frame = BlockFrame.Read(index.Name, block, bytes);
                    if (!PayloadCodec.TryDecompress(frame.Codec, bytes[SegmentLimits.FrameBytes..], raw.AsSpan(0, block.RawBytes)))
                        throw new InvalidOperationException("a block is damaged");
                }
            }
            if (decodes && visitor.Rows != index.Facts.Rows)
                throw new InvalidOperationException($"{index.Facts.Rows} rows were expected, and {visitor.Rows} came");
        });
    }

    private static (SegmentIndex Index, byte[] Buffer, byte[] Raw) Open(string path, SafeFileHandle file)
    {
        var bytes = new byte[RandomAccess.GetLength(file)];
        for (var read = 0; read < bytes.Length;)
            read += RandomAccess.Read(file, bytes.AsSpan(read, Math.Min(1 << 20, bytes.Length - read)), read);
        var index = SegmentBytes.Open(Path.GetFileName(path), bytes).Index;
        return (index, new byte[SegmentScan.BufferBytes(index)], new byte[index.MaxRawBytes]);
    }

    private static ThreadTime ReadPlain(string path)
    {
        using var file = File.OpenHandle(path, options: FileOptions.SequentialScan);
        var buffer = new byte[1 << 20];
        return ThreadTime.Of(() =>
        {
            for (var at = 0L; RandomAccess.Read(file, buffer, at) is > 0 and var read;)
                at += read;
        });
    }

    private async Task<ThreadTime> ReadAsync()
    {
        await using var reader = await SegmentReader.OpenAsync(new FolderJournal(folder), "1.alog", CancellationToken.None);
        return await SecondTimeAsync(() => reader.ReadAsync(default(TouchVisitor), CancellationToken.None));
    }

    /// <summary>Measures all threads.</summary>
    private static async Task<ThreadTime> SecondTimeAsync(Func<Task> work)
    {
        await work();
        var (allocated, cpu, began) = (GC.GetTotalAllocatedBytes(precise: true), Environment.CpuUsage, Stopwatch.GetTimestamp());
        await work();
        return new ThreadTime(
            Stopwatch.GetElapsedTime(began), Environment.CpuUsage.TotalTime - cpu.TotalTime,
            GC.GetTotalAllocatedBytes(precise: true) - allocated);
    }

    private void WriteJson(string path)
    {
        using var output = new BufferedStream(File.Create(path), 1 << 20);
        foreach (var slice in Slices(others))
        {
            for (var i = 0; i < slice.Count; i++)
            {
                var row = new JsonRow(
                    "Bench", slice.FirstPosition + i, Encoding.ASCII.GetString(slice.Alias(i)), Encoding.ASCII.GetString(slice.Domain(i)));
                JsonSerializer.Serialize(output, row, JsonRows.Default.JsonRow);
                output.WriteByte((byte)'\n');
            }
        }
    }

    private ThreadTime ReadJson(string path)
    {
        using var file = File.OpenHandle(path, options: FileOptions.SequentialScan);
        var buffer = new byte[1 << 20];
        return ThreadTime.Of(() =>
        {
            var (at, rows, length) = (0L, 0, 0L);
            while (RandomAccess.Read(file, buffer, at) is > 0 and var read)
            {
                var lines = buffer.AsSpan(0, buffer.AsSpan(0, read).LastIndexOf((byte)'\n') + 1);
                at += lines.Length;
                for (int end; (end = lines.IndexOf((byte)'\n')) >= 0; lines = lines[(end + 1)..])
                {
                    var row = JsonSerializer.Deserialize(lines[..end], JsonRows.Default.JsonRow)!;
                    (rows, length) = (rows + 1, length + row.Alias.Length + row.Domain.Length);
                }
            }
            if (rows != others || length == 0)
                throw new InvalidOperationException($"{others} rows were expected, and {rows} came");
        });
    }

    private async Task<(long Bytes, ThreadTime Time)> ReadSqliteAsync()
    {
        var file = Path.Combine(folder, "rows.db");
        var time = await ScanAsync(file);
        // Closed, so that the write-ahead log is merged into the file.
        return (new FileInfo(file).Length, time);
    }

    private async Task<ThreadTime> ScanAsync(string file)
    {
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        await database.UpgradeAsync(CancellationToken.None);
        var load = await PreparedLoad.CopyAsync(database, Slices(others));
        var slice = new AccountBatch(LoadSettings.DefaultSliceRows);
        return await SecondTimeAsync(async () =>
        {
            for (var next = 1L; next <= others; next += slice.Count)
                await database.ReadRowsAsync(load.Id, next, Math.Min(next + slice.Capacity - 1, others), slice, CancellationToken.None);
        });
    }

    private IEnumerable<AccountBatch> Slices(int count) => PreparedLoad.Batches(
        count, (slice, number) => slice.Add(_samples, number), LoadSettings.DefaultSliceRows);

    private static SegmentFacts Facts(int count) => new()
    {
        Store = new Guid("00010203-0405-0607-0809-0a0b0c0d0e0f"),
        Load = new(1),
        Mark = 1,
        Blob = new BlobVersion("Bench.zip", "\"0x1\""),
        StartedAt = DateTimeOffset.UnixEpoch,
        Breach = "Bench",
        ExtractorVersion = 1,
        BatchRows = LoadSettings.DefaultBatchRows,
        SliceRows = LoadSettings.DefaultSliceRows,
        First = 1,
        Last = count,
    };

    private static void Print(string what, int count, long bytes, ThreadTime time) => Console.WriteLine(
        $"| {what} | {(double)bytes / count:F2} | {count / time.Cpu.TotalSeconds / 1e6:F2} | {count / time.Wall.TotalSeconds / 1e6:F2} | "
        + $"{bytes / time.Wall.TotalSeconds / 1e6:N0} | {time.Wall.TotalMilliseconds * 1e8 / bytes:N0} | "
        + $"{(double)time.AllocatedBytes / count:F4} |");

    /// <summary>Reads each account's lengths, and a byte of each part.</summary>
    private struct TouchVisitor : IAccountVisitor
    {
        private long _sum;

        public long Rows { get; private set; }

        public readonly void BeginBlock(in SegmentBlock block)
        {
        }

        public void BeginDomain(ReadOnlySpan<byte> domain, int rows) => _sum += domain[^1];

        public void Account(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
        {
            _sum += alias.Length + domain.Length + alias[^1] + domain[0];
            Rows++;
        }
    }
}

internal sealed record JsonRow(string Breach, long Position, string Alias, string Domain);

[JsonSerializable(typeof(JsonRow))]
internal sealed partial class JsonRows : JsonSerializerContext;
