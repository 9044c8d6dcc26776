using HibpIngest.Api.AccessLog.Usage;
using HibpIngest.Cli.LocalHost;

namespace HibpIngest.Integration.Tests.AccessLog;

public sealed class UsageCommandTests : CommandTestBase
{
    private const string Search = "/api/v3/breachedaccount/{account}";
    private const string Range = "/range/{prefix}";
    private static readonly DateTimeOffset Day = new(2026, 11, 22, 0, 0, 0, TimeSpan.Zero);

    private readonly string _hash = ApiKey.HashOf("00112233445566778899aabbccddeeff");
    private StorageAccount _account = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
    }

    public override Task DisposeAsync()
    {
        _account.Dispose();
        return base.DisposeAsync();
    }

    [Fact]
    public async Task Usage_without_counts_is_empty_over_24_hours()
    {
        (await RunAsync("usage")).Printed("No requests are counted for that time");
        var report = await JsonAsync("usage");
        Assert.Empty(report.List("lines"));
        Assert.Equal(0, report.GetProperty("total").Number("requests"));
        var (from, to) = (report.GetProperty("from").GetDateTimeOffset(), report.GetProperty("to").GetDateTimeOffset());
        Assert.Equal((TimeSpan.FromHours(24), 0), (to - from, to.Minute));
        Assert.InRange(to, TimeProvider.System.GetUtcNow().AddMinutes(-1), TimeProvider.System.GetUtcNow().AddHours(1));
    }

    [Fact]
    public async Task Usage_sums_rows_by_the_requested_dimension()
    {
        await FillAsync();
        var shown = (await RunAsync("usage", "--from", "2026-11-22", "--to", "2026-11-23")).Succeeded(); // by route, the default
        Assert.Contains("from 2026-11-22T00 to 2026-11-23T00, UTC", shown.Error, StringComparison.Ordinal);
        Assert.Equal(
            [
                "route requests 5xx mean longest MiB", $"{Search} 1,004 0.40 % 1.5 ms 5,000.0 ms 2.0", $"{Range} 10 0 % 0.1 ms 0.1 ms 0.0",
                "total 1,014 0.39 % 1.5 ms 5,000.0 ms 2.0",
            ],
            Lines(shown.Output));
        shown = (await OfDayAsync("key")).Succeeded();
        Assert.Equal(
            [
                "key requests 5xx mean longest MiB", "website 1,000 0 % 1.0 ms 2.0 ms 2.0", "- 10 0 % 0.1 ms 0.1 ms 0.0",
                "00ff00ff00ff00ff 4 100.00 % 125.0 ms 5,000.0 ms 0.0", "total 1,014 0.39 % 1.5 ms 5,000.0 ms 2.0",
            ],
            Lines(shown.Output));
        shown = (await RunAsync("usage", "--from", "2026-11-22T10", "--to", "2026-11-22T11", "--by", "hour")).Succeeded();
        Assert.Equal(["hour requests 5xx mean longest MiB", "2026-11-22T10 1,000 0 % 1.0 ms 2.0 ms 2.0"], Lines(shown.Output));
    }

    [Fact]
    public async Task Usage_document_has_the_documented_shape()
    {
        await FillAsync();
        var report = (await OfDayAsync("key", "--json")).Succeeded().Json;
        Assert.Equal(
            (Day, Day.AddDays(1), "key"),
            (report.GetProperty("from").GetDateTimeOffset(), report.GetProperty("to").GetDateTimeOffset(), report.Text("by")));
        string[] counts = ["requests", "serverErrors", "bytes", "meanMicroseconds", "longestMicroseconds"];
        var (lines, total) = (report.List("lines"), report.GetProperty("total"));
        Assert.Equal(["key", "name", .. counts], Names(lines[0]));
        Assert.Equal(["key", .. counts], Names(lines[1]));
        Assert.Equal([_hash[..16], "-", "00ff00ff00ff00ff"], lines.Select(line => line.Text("key")));
        Assert.Equal("website", lines[0].Text("name"));
        Assert.Equal(
            (4, 4, 5_000_000), (lines[2].Number("requests"), lines[2].Number("serverErrors"), lines[2].Number("longestMicroseconds")));
        Assert.Equal((1_014, 4, 2_097_157), (total.Number("requests"), total.Number("serverErrors"), total.Number("bytes")));
        foreach (var by in (string[])["route", "hour", "status"])
        {
            Assert.All(
                (await OfDayAsync(by, "--json")).Succeeded().Json.List("lines"), line => Assert.Equal([by, .. counts], Names(line)));
        }
    }

    [Theory]
    [InlineData("--from", "yesterday")]
    [InlineData("--from", "2026-11-22T24")]
    [InlineData("--from", "2026-11-22T10:30")]
    [InlineData("--to", "22.11.2026")]
    public async Task Invalid_time_fails_with_one_line(string option, string time) => (await RunAsync("usage", option, time))
        .FailedWith($"{option}: expected an hour as 2026-11-22T10, or a day, found '{time}'");

    [Fact]
    public async Task From_must_be_before_to() => (await RunAsync("usage", "--from", "2026-11-22", "--to", "2026-11-22T00"))
        .FailedWith("--from: expected a time before --to, found 2026-11-22T00 and 2026-11-22T00");

    [Fact]
    public async Task Operator_endpoint_returns_the_same_report_as_the_command()
    {
        await FillAsync();
        var clock = new TestClock();
        clock.Advance(Day.AddHours(23).AddMinutes(59) - clock.GetUtcNow());
        await using var listener = await OperatorListener.StartAsync("http://127.0.0.1:0", _account, status: null, clock, None);
        using var http = new HttpClient { BaseAddress = new Uri(listener.Address) };
        foreach (var by in Enum.GetNames<UsageBy>())
        {
            var expected = await OfDayAsync(by.ToLowerInvariant(), "--json");
            Assert.Equal(Compact(expected.Succeeded().Output), Compact(await GetAsync($"/usage?hours=24&by={by}")));
        }
        Assert.Equal(await GetAsync("/usage?hours=24&by=route"), await GetAsync("/usage"));
        var month = JsonElement.Parse(await GetAsync("/usage?hours=744&by=hour"));
        Assert.Equal((Day.AddDays(-30), 3), (month.GetProperty("from").GetDateTimeOffset(), month.List("lines").Count));
        const string Hours = "hours: expected 1 to 744\n";
        const string By = "by: expected one of route, key, hour, status\n";
        foreach (var (query, words) in ((string, string)[])[
            ("hours=0", Hours), ("hours=745", Hours), ("hours=-1", Hours), ("hours=", Hours), ("hours=1&hours=2", Hours),
            ("by=account", By), ("by=1", By), ("by=", By)])
        {
            using var answer = await http.GetAsync(new Uri($"/usage?{query}", UriKind.Relative));
            Assert.Equal((query, HttpStatusCode.BadRequest, words), (query, answer.StatusCode, await answer.Content.ReadAsStringAsync()));
        }

        Task<string> GetAsync(string path) => http.GetStringAsync(new Uri(path, UriKind.Relative));
    }

    private async Task FillAsync()
    {
        await _account.Keys.CreateAsync(None);
        await _account.Keys.AddAsync(new ApiKey { Hash = _hash, Name = "website", CreatedAt = Day }, None);
        await _account.Usage.CreateAsync(None);
        var key = _hash[..16];
        // Two blobs, hours before and after the period, and a revoked key.
        await _account.Usage.WriteAsync(
            "2026112210/a-00001.log",
            [
                Row(10, Search, 200, key, 600, 2_097_152, 600_000, 2_000), Row(10, Search, 404, key, 300, 0, 300_000, 1_500),
                Row(22, Range, 200, "", 10, 5, 1_000, 100), Row(-1, Range, 200, "", 77, 1, 1, 1), Row(24, Range, 200, "", 77, 1, 1, 1),
            ],
            None);
        await _account.Usage.WriteAsync(
            "2026112210/b-00001.log",
            [
                Row(10, Search, 200, key, 100, 0, 100_000, 1_000), Row(22, Search, 503, "00ff00ff00ff00ff", 4, 0, 500_000, 5_000_000),
            ],
            None);
    }

    private static UsageRow Row(
        int hour, string route, int status, string key, long requests, long bytes, long microseconds, long longest) =>
        new(Day.AddHours(hour), route, status, key)
        {
            Requests = requests,
            Bytes = bytes,
            Microseconds = microseconds,
            LongestMicroseconds = longest,
        };

    private Task<HibpResult> OfDayAsync(string by, params string[] further) =>
        RunAsync(["usage", "--from", "2026-11-22", "--to", "2026-11-23", "--by", by, .. further]);

    private static IEnumerable<string> Lines(string output) => output.Split('\n')
        .Select(line => string.Join(' ', line.Split((char[])[' ', '│'], StringSplitOptions.RemoveEmptyEntries)))
        .Where(line => line.Any(char.IsAsciiLetterOrDigit));

    private static string Compact(string json) => JsonSerializer.Serialize(JsonElement.Parse(json));

    private static IEnumerable<string> Names(JsonElement element) => element.EnumerateObject().Select(property => property.Name);
}
