namespace HibpIngest.Api.AccessLog.Usage;

public sealed class UsageReader(IUsageTable usage, IApiKeys keys)
{
    /// <summary>Reports the last hours, including the current one.</summary>
    public Task<UsageReport> ReadLastAsync(int hours, UsageBy by, DateTimeOffset now, CancellationToken cancellationToken)
    {
        var to = HourOf(now).AddHours(1);
        return ReadAsync(to.AddHours(-hours), to, by, cancellationToken);
    }

    /// <param name="from">The first hour.</param>
    /// <param name="to">The hour after the last.</param>
    public async Task<UsageReport> ReadAsync(
        DateTimeOffset from, DateTimeOffset to, UsageBy by, CancellationToken cancellationToken)
    {
        var (sums, total) = (new Dictionary<string, Sum>(StringComparer.Ordinal), new Sum());
        await foreach (var row in usage.ReadAsync(from, to, cancellationToken))
        {
            var of = by switch
            {
                UsageBy.Route => row.Route,
                UsageBy.Key => row.Key.Length == 0 ? UsageLine.NoKey : row.Key,
                // This text and the next are parsed back in Describe.
                UsageBy.Hour => row.Hour.ToString("O", CultureInfo.InvariantCulture),
                _ => row.Status.ToString("D3", CultureInfo.InvariantCulture),
            };
            if (!sums.TryGetValue(of, out var sum))
                sums.Add(of, sum = new Sum());
            sum.Add(row);
            total.Add(row);
        }
        var names = by == UsageBy.Key ? await keys.ListAsync(cancellationToken) : [];
        var lines = sums.Select(one => Describe(one.Key, one.Value.ToLine(), by, names));
        return new UsageReport(from, to, by.ToString().ToLowerInvariant(), [.. Sort(lines, by)], total.ToLine());
    }

    public static DateTimeOffset HourOf(DateTimeOffset time) => new(time.UtcDateTime.Date.AddHours(time.UtcDateTime.Hour), TimeSpan.Zero);

    private static UsageLine Describe(string of, UsageLine line, UsageBy by, IReadOnlyList<ApiKey> names) => by switch
    {
        UsageBy.Route => line with { Route = of },
        UsageBy.Key => line with
        {
            Key = of,
            Name = names.FirstOrDefault(key => key.Hash.StartsWith(of, StringComparison.OrdinalIgnoreCase))?.Name,
        },
        UsageBy.Hour => line with { Hour = DateTimeOffset.ParseExact(of, "O", CultureInfo.InvariantCulture) },
        _ => line with { Status = int.Parse(of, CultureInfo.InvariantCulture) },
    };

    private static IEnumerable<UsageLine> Sort(IEnumerable<UsageLine> lines, UsageBy by) => by switch
    {
        UsageBy.Hour => lines.OrderBy(line => line.Hour),
        UsageBy.Status => lines.OrderBy(line => line.Status),
        _ => lines.OrderByDescending(line => line.Requests).ThenBy(line => line.Route ?? line.Key, StringComparer.Ordinal),
    };

    private sealed class Sum
    {
        private long _requests;
        private long _errors;
        private long _bytes;
        private long _microseconds;
        private long _longest;

        public void Add(UsageRow row)
        {
            _requests += row.Requests;
            _errors += row.Status is >= 500 and < 600 ? row.Requests : 0;
            _bytes += row.Bytes;
            _microseconds += row.Microseconds;
            _longest = Math.Max(_longest, row.LongestMicroseconds);
        }

        public UsageLine ToLine() => new()
        {
            Requests = _requests,
            ServerErrors = _errors,
            Bytes = _bytes,
            MeanMicroseconds = _requests == 0 ? 0 : _microseconds / _requests,
            LongestMicroseconds = _longest,
        };
    }
}
