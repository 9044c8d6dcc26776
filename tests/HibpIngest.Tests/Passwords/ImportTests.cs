using System.Runtime.CompilerServices;
using HibpIngest.Cli.Output;
using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Ranges;

namespace HibpIngest.Tests.Passwords;

public sealed class ImportTests : IDisposable
{
    private const int Seed = 13;

    private readonly string _folder = Directory.CreateTempSubdirectory("hibp-import-").FullName;

    private string Work => Path.Combine(_folder, "work");

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task Import_sorts_lines_in_any_order_and_merges_equal_hashes()
    {
        for (var round = 0; round < 40; round++)
        {
            var random = new Random(Seed + round);
            var mode = round % 2 == 0 ? HashMode.Sha1 : HashMode.Ntlm;
            var expected = new Expected(mode);
            var files = Enumerable.Range(0, random.Next(1, 4)).Select(_ => NewFile(Lines(random, random.Next(400), expected))).ToList();
            var options = Options(mode) with { BlockBytes = random.Next(1, 3_000), CheckpointBytes = random.Next(1, 20_000) };
            using (var import = HashImport.Open(options, [.. files.Select(ImportInput.File)]))
            {
                Assert.Equal(ImportStart.New, import.Start);
                var summary = await import.ReadAsync(null, default);
                Assert.True(expected.Is(await ReadAsync(import, mode)), $"seed {Seed + round}");
                Assert.Equal((expected.Rows, expected.Zeros), (summary.Rows, summary.ZeroRows));
                import.Delete();
            }
            Assert.False(Directory.Exists(Work));
        }
    }

    [Fact]
    public async Task Import_interrupted_at_any_offset_resumes_to_the_same_result()
    {
        var expected = new Expected(HashMode.Sha1);
        var random = new Random(Seed);
        var lines = Encoding.UTF8.GetBytes(Lines(random, 60, expected));
        var more = Encoding.UTF8.GetBytes(Lines(random, 60, expected));
        var zip = ArchiveTesting.Zip(true, [
            ("one.txt", Encoding.UTF8.GetBytes(Lines(random, 40, expected))),
            ("two.txt", Encoding.UTF8.GetBytes(Lines(random, 40, expected))),
            ("more.gz", ArchiveTesting.Gzip(Encoding.UTF8.GetBytes(Lines(random, 40, expected))))]);
        byte[][] contents = [lines, ArchiveTesting.Gzip(more), zip];
        var (resumed, all) = (0, contents.Sum(content => content.Length));
        for (var failAfter = 0; failAfter < all; failAfter += 503)
        {
            // Each run must make progress, or the loop would never end.
            for (var run = 0; ; run++)
            {
                Assert.True(run < 200, $"no end after {failAfter} bytes");
                var allowance = new StrongBox<int>(failAfter + (run * 2_500));
                using var import = HashImport.Open(
                    Options(HashMode.Sha1) with { BlockBytes = 64, CheckpointBytes = 700 },
                    [.. contents.Select((content, i) => new ImportInput($"{i}.txt", () => new FailingStream(content, allowance))
                    {
                        Length = content.Length,
                        Version = "1",
                    })]);
                Assert.Contains(import.Start, new[] { ImportStart.New, ImportStart.Continues });
                resumed += import.Start == ImportStart.Continues ? 1 : 0;
                ImportSummary summary;
                try
                {
                    summary = await import.ReadAsync(null, default);
                }
                catch (IOException e) when (e.Message == FailingStream.Message)
                {
                    continue;
                }
                Assert.True(expected.Is(await ReadAsync(import)), $"failed after {failAfter} bytes, run {run}");
                Assert.Equal((expected.Rows, expected.Zeros, expected.Lines), (summary.Rows, summary.ZeroRows, summary.Lines));
                import.Delete();
                break;
            }
        }
        Assert.True(resumed > 20, $"{resumed} resumed");
    }

    [Fact]
    public async Task A_completed_import_is_readable_in_parts_after_a_restart()
    {
        var expected = new Expected(HashMode.Sha1);
        var file = NewFile(Lines(new Random(Seed), 3_000, expected));
        using (var import = Open(file))
            await import.ReadAsync(null, default);
        using (var import = Open(file))
        {
            Assert.Equal(ImportStart.AllRead, import.Start);
            var summary = await import.ReadAsync(null, default);
            Assert.Equal((expected.Lines, expected.Rows), (summary.Lines, summary.Rows));
            var ranges = import.Ranges(HashMode.Sha1);
            // Reads as the pack writer does: several parts concurrently, sixteen buckets each.
            var parts = new List<string>[SortedRanges.Buckets / 16];
            await Parallel.ForAsync(0, parts.Length, new ParallelOptions { MaxDegreeOfParallelism = 8 }, async (part, token) =>
                parts[part] = await ReadAsync(ranges, HashMode.Sha1, part * 16, 16, token));
            Assert.True(expected.Is([.. parts.SelectMany(part => part)]));
            Assert.Equal(expected.Rows, Enumerable.Range(0, parts.Length).Sum(part => ranges.Rows(part * 16, 16)));
        }
    }

    [Fact]
    public async Task Changed_input_or_damaged_state_restarts_the_import()
    {
        var expected = new Expected(HashMode.Sha1);
        var file = NewFile(Lines(new Random(Seed), 500, expected));
        var state = Path.Combine(Work, "state.json");
        await ReadOnceAsync(ImportStart.New);
        await ReadOnceAsync(ImportStart.AllRead);
        var whole = File.ReadAllBytes(state);
        foreach (var cut in new[] { 0, 1, whole.Length / 2, whole.Length - 1 })
        {
            File.WriteAllBytes(state, whole[..cut]);
            await ReadOnceAsync(ImportStart.Damaged);
        }
        File.WriteAllText(state, File.ReadAllText(state).Replace("\"Format\":1", "\"Format\":2", StringComparison.Ordinal));
        await ReadOnceAsync(ImportStart.Damaged);
        File.WriteAllText(state, "{}");
        await ReadOnceAsync(ImportStart.Damaged);
        using (var spool = File.OpenWrite(Path.Combine(Work, "hashes.spool")))
            spool.SetLength(spool.Length - 1);
        await ReadOnceAsync(ImportStart.Damaged);
        File.SetLastWriteTimeUtc(file, new DateTime(2024, 1, 1, 0, 0, 0, DateTimeKind.Utc));
        await ReadOnceAsync(ImportStart.OtherInput);
        File.AppendAllText(file, Lines(new Random(Seed + 1), 1, expected));
        await ReadOnceAsync(ImportStart.OtherInput);
        await ReadOnceAsync(ImportStart.AllRead);

        async Task ReadOnceAsync(ImportStart start)
        {
            using var import = Open(file);
            Assert.Equal(start, import.Start);
            await import.ReadAsync(null, default);
            Assert.True(expected.Is(await ReadAsync(import)));
        }
    }

    [Fact]
    public async Task A_corrupted_spool_is_detected()
    {
        var file = NewFile(Lines(new Random(Seed), 500, new Expected(HashMode.Sha1)));
        using (var import = Open(file))
            await import.ReadAsync(null, default);
        var spool = Path.Combine(Work, "hashes.spool");
        var bytes = File.ReadAllBytes(spool);
        bytes[12] ^= 1;
        File.WriteAllBytes(spool, bytes);
        using var again = Open(file);
        var error = await Assert.ThrowsAsync<IOException>(() => ReadAsync(again));
        Assert.Contains("delete the folder", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_malformed_lines_number_counts_from_the_texts_start_even_after_resuming()
    {
        var text = new StringBuilder();
        for (var i = 0; i < 1_000; i++)
            text.Append(HashText.Sha1($"{i}")).Append(":1\r\n");
        var content = Encoding.ASCII.GetBytes(text + "none\n");
        foreach (var (name, bytes) in new[] { ("list.txt", content), ("list.gz", ArchiveTesting.Gzip(content)),
            ("list.zip", ArchiveTesting.Zip(true, [("empty.txt", []), ("one.txt", content)])) })
        {
            for (var run = 0; run < 3; run++)
            {
                using var import = HashImport.Open(
                    Options(HashMode.Sha1) with { BlockBytes = 1_000, CheckpointBytes = 1_500 },
                    [Input(name, bytes)]);
                Assert.Equal(run > 0, import.Start == ImportStart.Continues);
                var message = (await Assert.ThrowsAsync<BadInputException>(() => import.ReadAsync(null, default))).Message;
                Assert.StartsWith(
                    name == "list.zip" ? "'list.zip/one.txt', line 1001: " : $"'{name}', line 1001: ", message, StringComparison.Ordinal);
            }
            Directory.Delete(Work, recursive: true);
        }
    }

    [Fact]
    public async Task Plain_passwords_are_imported_in_both_modes_and_never_stored()
    {
        var random = new Random(Seed);
        var passwords = Enumerable.Range(0, 2_000).Select(_ => $"pass{random.Next(500)}é").ToList();
        var file = NewFile(string.Join("\r\n", passwords));
        using (var import = HashImport.Open(
            Options(HashMode.Sha1) with { Plain = true, CheckpointBytes = 1_000, BlockBytes = 300 }, [ImportInput.File(file)]))
        {
            var summary = await import.ReadAsync(null, default);
            Assert.Equal((2_000, 4_000), (summary.Lines, summary.Rows));
            (HashMode, Func<string, string>)[] modes = [(HashMode.Sha1, HashText.Sha1), (HashMode.Ntlm, HashText.Ntlm)];
            foreach (var (mode, hash) in modes)
            {
                Assert.Equal(
                    passwords.GroupBy(hash).Select(group => $"{group.Key}:{group.Count()}").Order(StringComparer.Ordinal),
                    await ReadAsync(import, mode));
            }
        }
        Assert.All(Directory.GetFiles(Work), path => Assert.Equal(-1, File.ReadAllBytes(path).AsSpan().IndexOf("pass"u8)));
    }

    [Fact]
    public async Task Count_sums_saturate_at_the_maximum()
    {
        var hash = HashText.Sha1("a");
        var file = NewFile($"{hash}:9223372036854775807\n{hash}:5\n");
        var other = NewFile($"{hash}:9223372036854775807\n");
        using var import = Open(file, other);
        await import.ReadAsync(null, default);
        Assert.Equal([$"{hash}:9223372036854775807"], await ReadAsync(import));
    }

    [Fact]
    public async Task Standard_input_always_starts_a_new_import_and_rejects_a_zip()
    {
        var expected = new Expected(HashMode.Sha1);
        var text = Encoding.UTF8.GetBytes(Lines(new Random(Seed), 300, expected));
        foreach (var content in new[] { text, text, ArchiveTesting.Gzip(text) })
        {
            using var import = HashImport.Open(
                Options(HashMode.Sha1) with { CheckpointBytes = 100, BlockBytes = 100 },
                [ImportInput.StandardInput(new PipeStream(content))]);
            Assert.Equal(ImportStart.New, import.Start);
            await import.ReadAsync(null, default);
            Assert.True(expected.Is(await ReadAsync(import)));
        }
        using var zip = HashImport.Open(
            Options(HashMode.Sha1), [ImportInput.StandardInput(new PipeStream(ArchiveTesting.Zip(true, [("a", text)])))]);
        var error = await Assert.ThrowsAsync<BadInputException>(() => zip.ReadAsync(null, default));
        Assert.StartsWith("'-': found a zip", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Damaged_archives_are_reported_by_name()
    {
        var text = Encoding.UTF8.GetBytes(Lines(new Random(Seed), 3_000, new Expected(HashMode.Sha1)));
        var gzip = ArchiveTesting.Gzip(text);
        var zip = ArchiveTesting.Zip(true, [("a.txt", text)]);
        zip[zip.Length / 2] ^= 0xFF;
        foreach (var (name, content) in new[] { ("cut.gz", gzip[..^9]), ("cut.zip", zip[..^30]), ("bad.zip", zip) })
        {
            using var import = HashImport.Open(Options(HashMode.Sha1), [Input(name, content)]);
            var error = await Assert.ThrowsAnyAsync<BadInputException>(() => import.ReadAsync(null, default));
            Assert.StartsWith($"'{name}", error.Message, StringComparison.Ordinal);
            import.Delete();
        }
    }

    [Fact]
    public async Task A_bucket_above_the_memory_limit_is_sorted_in_pieces_if_each_piece_fits()
    {
        var random = new Random(Seed);
        var expected = new Expected(HashMode.Sha1);
        var hashes = Enumerable.Range(0, 50).Select(i => "ABC" + HashText.Sha1($"{i}")[3..]).ToList();
        var text = new StringBuilder();
        for (var i = 0; i < 20_000; i++)
            text.Append(expected.Add(hashes[random.Next(hashes.Count)], random.Next(1, 9))).Append('\n');
        using var import = Open(NewFile(text.ToString()));
        await import.ReadAsync(null, default);
        using var enough = new SortSlots(2, 100);
        Assert.True(expected.Is(await ReadAsync(import.Ranges(HashMode.Sha1, enough), HashMode.Sha1, 0xABC, 1, default)));
        using var few = new SortSlots(2, 51);
        var error = await Assert.ThrowsAsync<BadInputException>(
            () => ReadAsync(import.Ranges(HashMode.Sha1, few), HashMode.Sha1, 0, SortedRanges.Buckets, default));
        Assert.Contains(
            "at most 51 different hashes, for which there is memory, in ranges ABC00 to ABCFF", error.Message, StringComparison.Ordinal);
        // Every slot was released: the next read doesn't block.
        using var again = new SortSlots(1, 100);
        var ranges = import.Ranges(HashMode.Sha1, again);
        for (var i = 0; i < 3; i++)
        {
            await Assert.ThrowsAsync<InvalidOperationException>(
                () => ranges.ReadAsync(0, SortedRanges.Buckets, (_, _, _) => throw new InvalidOperationException(), default));
        }
        Assert.True(expected.Is(await ReadAsync(ranges, HashMode.Sha1, 0, SortedRanges.Buckets, default)));
    }

    [Fact]
    public async Task A_work_folder_accepts_one_import_at_a_time()
    {
        var input = ImportInput.File(NewFile(""));
        using var import = HashImport.Open(Options(HashMode.Sha1), [input]);
        var other = Assert.Throws<BadInputException>(() => HashImport.Open(Options(HashMode.Sha1), [input]));
        Assert.Contains("another one uses it", other.Message, StringComparison.Ordinal);
        await import.ReadAsync(null, default);
        Assert.Empty(await ReadAsync(import));
        Assert.Throws<BadInputException>(() => ImportInput.File(Path.Combine(_folder, "none")));
    }

    [Fact]
    public async Task Import_resumes_after_cancellation_and_reports_its_progress()
    {
        var expected = new Expected(HashMode.Sha1);
        var file = NewFile(Lines(new Random(Seed), 3_000, expected));
        var options = Options(HashMode.Sha1) with { BlockBytes = 1_000, CheckpointBytes = 5_000 };
        using (var import = HashImport.Open(options, [ImportInput.File(file)]))
        {
            using var cancel = new CancellationTokenSource();
            var progress = new ImmediateProgress<ImportProgress>(value =>
            {
                if (value.Bytes > value.BytesInAll / 2)
                    cancel.Cancel();
            });
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => import.ReadAsync(progress, cancel.Token));
        }
        using (var import = HashImport.Open(options, [ImportInput.File(file)]))
        {
            Assert.Equal(ImportStart.Continues, import.Start);
            var reports = new List<ImportProgress>();
            await import.ReadAsync(new ImmediateProgress<ImportProgress>(reports.Add), default);
            var length = new FileInfo(file).Length;
            Assert.True(reports[0].Bytes > length / 4, $"{reports[0]}");
            Assert.Equal(new ImportProgress(length, length, expected.Lines, expected.Rows), reports[^1]);
            Assert.True(expected.Is(await ReadAsync(import)));
        }
    }

    [Fact]
    public void SortAndSum_equals_a_comparison_sort()
    {
        for (var round = 0; round < 200; round++)
        {
            var random = new Random(Seed + round);
            var rows = new HashCount[random.Next(2_000)];
            var (values, length) = (random.Next(1, 257), random.Next(1, 21));
            for (var i = 0; i < rows.Length; i++)
            {
                var hash = new byte[20];
                for (var at = 20 - length; at < 20; at++)
                    hash[at] = (byte)random.Next(values);
                rows[i] = new HashCount(hash, random.Next(1, 100));
            }
            var expected = rows.GroupBy(row => HashText.Of(row, HashMode.Sha1)[..40])
                .Select(group => $"{group.Key}:{group.Sum(row => row.Count)}").Order(StringComparer.Ordinal).ToList();
            Assert.Equal(expected, rows[..HashSort.SortAndSum(rows)].Select(row => HashText.Of(row, HashMode.Sha1)));
        }
    }

    private ImportOptions Options(HashMode mode) => new() { WorkFolder = Work, Mode = mode, MemoryBytes = ImportOptions.MinMemoryBytes };

    private string NewFile(string content)
    {
        var file = Path.Combine(_folder, Path.GetRandomFileName());
        File.WriteAllText(file, content);
        return file;
    }

    private HashImport Open(params string[] files) => HashImport.Open(Options(HashMode.Sha1), [.. files.Select(ImportInput.File)]);

    private static ImportInput Input(string name, byte[] content) =>
        new(name, () => new MemoryStream(content)) { Length = content.Length, Version = "1" };

    private static Task<List<string>> ReadAsync(HashImport import, HashMode mode = HashMode.Sha1) =>
        ReadAsync(import.Ranges(mode), mode, 0, SortedRanges.Buckets, default);

    private static async Task<List<string>> ReadAsync(
        SortedRanges ranges, HashMode mode, int first, int buckets, CancellationToken cancellation)
    {
        var found = new List<string>();
        var last = -1;
        await ranges.ReadAsync(
            first, buckets,
            (prefix, rows, _) =>
            {
                Assert.True(prefix > last);
                Assert.InRange(prefix, first * SortedRanges.PrefixesPerBucket, ((first + buckets) * SortedRanges.PrefixesPerBucket) - 1);
                Assert.NotEqual(0, rows.Length);
                foreach (var row in rows.Span)
                {
                    Assert.Equal(prefix, row.Prefix);
                    found.Add(HashText.Of(row, mode));
                }
                last = prefix;
                return ValueTask.CompletedTask;
            },
            cancellation);
        return found;
    }

    /// <summary>Makes varied lines: few prefixes, repeated hashes, all line ends, byte order marks, zeros.</summary>
    private static string Lines(Random random, int count, Expected expected)
    {
        string[] ends = ["\n", "\r\n", "\r", " \n", "\n\n", "\r\n\uFEFF"];
        var text = new StringBuilder();
        for (var i = 0; i < count; i++)
        {
            var hash = HashText.Sha1($"{random.Next(300)}")[..expected.Mode.Digits()];
            if (random.Next(2) == 0)
                hash = "00" + hash[2..];
            var line = expected.Add(hash, random.Next(4) == 0 ? random.Next(2) : random.NextInt64(1L << random.Next(1, 63)));
            var end = ends[random.Next(ends.Length)];
            text.Append(random.Next(2) == 0 ? line.ToLowerInvariant() : line).Append(end);
            expected.Lines += end == "\n\n" ? 1 : 0;
            // A byte order mark at the end is a line of its own.
            expected.Lines += i == count - 1 && end.EndsWith('\uFEFF') ? 1 : 0;
        }
        return text.ToString();
    }

    /// <summary>Computes the expected sums, in decimals that don't overflow.</summary>
    private sealed class Expected(HashMode mode)
    {
        private readonly SortedDictionary<string, decimal> _counts = new(StringComparer.Ordinal);

        public HashMode Mode => mode;

        public long Lines { get; set; }

        public long Rows { get; private set; }

        public long Zeros { get; private set; }

        public string Add(string hash, long count)
        {
            Lines++;
            if (count == 0)
            {
                Zeros++;
            }
            else
            {
                Rows++;
                _counts[hash] = _counts.GetValueOrDefault(hash) + count;
            }
            return string.Create(CultureInfo.InvariantCulture, $"{hash}:{count}");
        }

        public bool Is(List<string> found) =>
            found.SequenceEqual(_counts.Select(pair => $"{pair.Key}:{Math.Min(pair.Value, long.MaxValue):0}"));
    }

    /// <summary>Fails once this many bytes have been read from all streams that share the allowance.</summary>
    private sealed class FailingStream(byte[] content, StrongBox<int> allowance) : MemoryStream(content)
    {
        public const string Message = "cut off by the test";

        public override int Read(byte[] buffer, int offset, int count)
        {
            if (allowance.Value == 0)
                throw new IOException(Message);
            var read = base.Read(buffer, offset, Math.Min(count, allowance.Value));
            allowance.Value -= read;
            return read;
        }
    }

    /// <summary>A stream that can't seek and returns at most 33 bytes per read.</summary>
    private sealed class PipeStream(byte[] content) : MemoryStream(content)
    {
        public override bool CanSeek => false;

        public override int Read(byte[] buffer, int offset, int count) => base.Read(buffer, offset, Math.Min(count, 33));
    }
}
