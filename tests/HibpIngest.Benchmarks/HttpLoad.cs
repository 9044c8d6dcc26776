using System.ComponentModel;

namespace HibpIngest.Benchmarks;

/// <summary>Results of h2load (Debian: nghttp2-client).</summary>
/// <param name="Ok">Responses with a 2xx status.</param>
/// <param name="Errors">Responses with a 4xx or 5xx status, and requests without a response.</param>
/// <param name="Seconds">The requested duration.</param>
/// <param name="Median">Median time to a complete response, in milliseconds.</param>
/// <param name="Tail">The 99th percentile of the same times.</param>
internal sealed partial record HttpLoad(long Ok, long Errors, double Seconds, double Median, double Tail)
{
    /// <summary>Responses per second.</summary>
    public double Rate => Ok / Seconds;

    /// <summary>Returns whether h2load is installed; if not, prints how to install it.</summary>
    public static async Task<bool> IsInstalledAsync()
    {
        try
        {
            await ExternalProgram.RunAsync("h2load", "--version");
            return true;
        }
        catch (Win32Exception)
        {
            Console.Error.WriteLine("h2load is not installed: apt-get install nghttp2-client");
            return false;
        }
    }

    /// <summary>Sends HTTP/1.1 requests without a pause, or at a rate.</summary>
    /// <param name="address">The URL.</param>
    /// <param name="connections">Concurrent connections.</param>
    /// <param name="seconds">Duration.</param>
    /// <param name="perConnection">Requests per second and connection; null: without a pause.</param>
    /// <param name="warmUpSeconds">Seconds at the beginning whose times are ignored, because connections are still being made.</param>
    public static async Task<HttpLoad> RunAsync(
        string address, int connections, int seconds, int? perConnection = null, int warmUpSeconds = 0)
    {
        var log = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName());
        try
        {
            string[] rate = perConnection is null ? [] : ["--rps", $"{perConnection}"];
            using var process = Process.Start(new ProcessStartInfo(
                "h2load",
                ["--h1", "-c", $"{connections}", "-t", "1", "-D", $"{seconds}", "--log-file", log, .. rate, address])
            {
                UseShellExecute = false,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
            })!;
            var error = process.StandardError.ReadToEndAsync();
            var output = await process.StandardOutput.ReadToEndAsync();
            await process.WaitForExitAsync();
            await error;
            // If the server is killed, h2load ends early: what it counted until then counts.
            if (Counts().Match(output) is not { Success: true } counts || Statuses().Match(output) is not { Success: true } statuses)
                throw new InvalidOperationException($"h2load ended with {process.ExitCode} and without its figures: {output}");
            var times = await TimesAsync(log, warmUpSeconds);
            var errors = Math.Max(Number(counts, "failed"), Number(statuses, "client") + Number(statuses, "server"));
            return new HttpLoad(Number(statuses, "ok"), errors, seconds, times.Percentile(50), times.Percentile(99));
        }
        finally
        {
            File.Delete(log);
        }
    }

    private static async Task<double[]> TimesAsync(string log, int left)
    {
        var rows = new List<(long Began, double Milliseconds)>();
        await foreach (var line in File.ReadLinesAsync(log))
        {
            var fields = line.Split('\t');
            rows.Add((long.Parse(fields[0]), long.Parse(fields[2]) / 1000.0));
        }
        var first = rows.Count == 0 ? 0 : rows.Min(row => row.Began) + (left * 1_000_000L);
        return [.. rows.Where(row => row.Began >= first).Select(row => row.Milliseconds)];
    }

    private static long Number(Match match, string group) => long.Parse(match.Groups[group].Value);

    [GeneratedRegex(@"^requests: .* (?<failed>\d+) failed, ", RegexOptions.ExplicitCapture | RegexOptions.Multiline, 60_000)]
    private static partial Regex Counts();

    [GeneratedRegex(
        @"^status codes: (?<ok>\d+) 2xx, \d+ 3xx, (?<client>\d+) 4xx, (?<server>\d+) 5xx",
        RegexOptions.ExplicitCapture | RegexOptions.Multiline, 60_000)]
    private static partial Regex Statuses();
}
