using System.Collections.Concurrent;
using System.Diagnostics;
using System.IO.Compression;
using System.Security.Cryptography;
using System.Text.Json;
using HibpIngest.Hosting.Local;
using HibpIngest.Passwords;

namespace HibpIngest.Benchmarks;

/// <summary>What a script of its own (expected-ranges.mjs) expects of ranges, and what a server answers.</summary>
/// <param name="folder">Where the script's plan is.</param>
/// <param name="say">Told what differs.</param>
internal sealed class ExpectedRanges(string folder, Action<string> say)
{
    private const int AtOnce = 8;
    private const int DifferencesShown = 5;

    /// <summary>What the script expects, of both modes.</summary>
    /// <param name="listOf">The file of a mode's hashes.</param>
    /// <param name="prefixes">The ranges.</param>
    public async Task<IReadOnlyList<ExpectedRange>> ReadAsync(Func<HashMode, string> listOf, string[] prefixes)
    {
        var (expected, plan) = (new List<ExpectedRange>(), Path.Combine(folder, "plan.json"));
        foreach (var mode in HashModes.All)
        {
            await File.WriteAllTextAsync(plan, JsonSerializer.Serialize(new { mode = mode.Name(), file = listOf(mode), prefixes }));
            var script = RepositoryFolder.Find("tests/HibpIngest.Benchmarks/expected-ranges.mjs")!;
            var start = new ProcessStartInfo("node", ["--max-old-space-size=4096", script, plan])
            {
                UseShellExecute = false,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
            };
            using var process = Process.Start(start)!;
            var said = process.StandardError.ReadToEndAsync();
            while (await process.StandardOutput.ReadLineAsync() is { } line)
                expected.Add(JsonSerializer.Deserialize<ExpectedRange>(line, JsonSerializerOptions.Web)!);
            await process.WaitForExitAsync();
            if (process.ExitCode != 0)
                throw new InvalidOperationException($"the script that expects ended with {process.ExitCode}: {await said}");
        }
        return expected;
    }

    /// <summary>Asks a server, every other time for gzip.</summary>
    /// <returns>Answers that are not what is expected.</returns>
    public async Task<int> AskAsync(string address, string what, IReadOnlyList<ExpectedRange> expected)
    {
        using var client = new HttpClient { BaseAddress = new Uri(address), Timeout = TimeSpan.FromMinutes(5) };
        var (differences, bytes, number) = (new ConcurrentQueue<string>(), 0L, 0);
        await Parallel.ForEachAsync(expected, new ParallelOptions { MaxDegreeOfParallelism = AtOnce }, async (one, cancellationToken) =>
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, one.Path);
            if (Interlocked.Increment(ref number) % 2 == 0)
                request.Headers.Add("accept-encoding", "gzip");
            using var response = await client.SendAsync(request, cancellationToken);
            await using var sent = await response.Content.ReadAsStreamAsync(cancellationToken);
            await using var body = response.Content.Headers.ContentEncoding.Contains("gzip")
                ? new GZipStream(sent, CompressionMode.Decompress) : sent;
            using var text = new MemoryStream();
            await body.CopyToAsync(text, cancellationToken);
            Interlocked.Add(ref bytes, text.Length);
            var digest = Convert.ToHexStringLower(SHA256.HashData(text.GetBuffer().AsSpan(0, (int)text.Length)));
            if (!response.IsSuccessStatusCode || text.Length != one.Length || digest != one.Sha256)
                differences.Enqueue($"{what}: {one.Path}: expected {one.Length} bytes of {one.Sha256}, found {(int)response.StatusCode} "
                    + $"with {text.Length} of {digest}");
        });
        say($"| {what} | {expected.Count:N0} | {bytes:N0} | {differences.Count:N0} |");
        foreach (var difference in differences.Take(DifferencesShown))
            say(difference);
        return differences.Count;
    }
}

/// <summary>What is asked, and what is to be answered.</summary>
internal sealed record ExpectedRange(string Path, int Length, string Sha256);
