using System.IO.Compression;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>Compares a server's ranges with what a separate script (expected-ranges.mjs) expects.</summary>
/// <param name="folder">The folder of the script's plan.</param>
/// <param name="say">Receives the figures and the differences.</param>
internal sealed class ExpectedRanges(string folder, Action<string> say)
{
    public const string Head = "| what | prefixes | bytes | differences |\n| --- | ---: | ---: | ---: |";

    private const int AtOnce = 8;

    /// <summary>Returns what the script expects for both modes.</summary>
    /// <param name="listOf">The file of a mode's hashes.</param>
    public async Task<IReadOnlyList<ExpectedRange>> ReadAsync(Func<HashMode, string> listOf, string[] prefixes)
    {
        var (expected, plan) = (new List<ExpectedRange>(), Path.Combine(folder, "plan.json"));
        foreach (var mode in HashModes.All)
        {
            await File.WriteAllTextAsync(plan, JsonSerializer.Serialize(new { mode = mode.Name(), file = listOf(mode), prefixes }));
            var (lines, _) = await ExternalProgram.RunScriptAsync(
                "tests/HibpIngest.Integration.Tests/Campaigns/expected-ranges.mjs", plan);
            expected.AddRange(lines.Split('\n', StringSplitOptions.RemoveEmptyEntries)
                .Select(line => JsonSerializer.Deserialize<ExpectedRange>(line, JsonSerializerOptions.Web)!));
        }
        return expected;
    }

    /// <summary>Requests all ranges, every other one as gzip.</summary>
    /// <returns>The number of unexpected responses.</returns>
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
        foreach (var difference in differences.Take(Campaign.DifferencesShown))
            say(difference);
        return differences.Count;
    }
}

/// <summary>A request and its expected response.</summary>
internal sealed record ExpectedRange(string Path, int Length, string Sha256);
