using HibpIngest.Cli.Output;

namespace HibpIngest.Tests.Cli;

/// <summary>Tests the displayed time left, rates and shares of a load, against loads simulated slice by slice.</summary>
public sealed class LoadFiguresTests
{
    private const double MaxShare = 1.5;
    private static readonly DateTimeOffset Start = new(2026, 3, 4, 5, 6, 7, TimeSpan.Zero);

    [Theory]
    [InlineData(500, 1, 0.8, 40)] // one at a time
    [InlineData(500, 8, 5, 30)]
    [InlineData(500, 32, 60, 60)] // in bursts, on a busy machine
    [InlineData(500, 16, 2, 600)] // reading the archive is slower than writing its slices
    [InlineData(500, 16, 0.2, 600)]
    [InlineData(100, 8, 30, 20)] // a million accounts
    public void Time_left_of_a_steady_load_is_within_a_factor_of_the_actual_time(
        int slices, int maxConcurrency, double secondsOfSlice, double secondsOfIngest)
    {
        var off = new List<string>();
        for (var seed = 1; seed <= 5; seed++)
        {
            var run = Simulation.Run(seed, slices, maxConcurrency, secondsOfSlice, secondsOfIngest);
            for (var percent = 20; percent <= 90; percent += 2)
            {
                var now = run.Began + ((run.Ended - run.Began) * (percent / 100.0));
                var left = run.FiguresAt(now).Left;
                var factor = left is { } time ? time / (run.Ended - now) : double.NaN;
                if (!(factor is > 1 / MaxShare and < MaxShare))
                    off.Add($"seed {seed}, {percent}%: {factor:0.00}");
            }
        }
        Assert.True(off.Count == 0, string.Join(", ", off));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Time_left_of_a_stalled_load_excludes_its_idle_time(int seed)
    {
        // No host works on it for eight hours in its middle, and for ninety seconds later.
        var run = Simulation.Run(
            seed, 500, maxConcurrency: 8, 5, 30, stalls: [(0.4, TimeSpan.FromHours(8)), (0.7, TimeSpan.FromSeconds(90))]);
        foreach (var percent in (int[])[25, 35, 45, 55, 65, 75, 85])
        {
            var now = run.AtWork(percent / 100.0);
            var factor = run.FiguresAt(now).Left!.Value / run.WorkAfter(now);
            Assert.InRange(factor, 1 / MaxShare, MaxShare);
        }
        var end = run.FiguresAt(run.Ended);
        Assert.InRange(end.Elapsed, run.WorkAfter(run.Began) * 0.9, run.WorkAfter(run.Began) * 1.2);
        Assert.InRange(end.AccountsPerSecond, 0.8 * 8 * 10_000 / 5, 1.2 * 8 * 10_000 / 5);
    }

    /// <summary>Slices of one half take four times as long as the other's, as if another job started or ended on the machine.</summary>
    [Theory]
    [InlineData(5, 20)]
    [InlineData(20, 5)]
    public void Time_left_follows_the_rate_of_the_latest_slices(double secondsOfSlice, double secondsOfLaterSlice)
    {
        var run = Simulation.Run(1, 1200, maxConcurrency: 8, secondsOfSlice, 30, secondsOfLaterSlice: secondsOfLaterSlice);
        var changed = run.DoneAt(600);
        // After a window of two minutes, and of 64 slices.
        var window = TimeSpan.FromSeconds(Math.Max(130, 70 * secondsOfLaterSlice / 8));
        var seen = 0;
        for (var now = changed + window; now < run.Began + ((run.Ended - run.Began) * 0.9); now += TimeSpan.FromSeconds(5), seen++)
            Assert.InRange(run.FiguresAt(now).Left!.Value / (run.Ended - now), 1 / MaxShare, MaxShare);
        Assert.True(seen > 2);
    }

    [Fact]
    public void Idle_load_has_no_time_left()
    {
        var run = Simulation.Run(1, 500, 8, 5, 30, stalls: [(0.5, TimeSpan.FromHours(8))]);
        var stalled = run.AtWork(0.5) + TimeSpan.FromHours(1);
        var before = run.FiguresAt(run.AtWork(0.49));
        var figures = run.FiguresAt(stalled);
        Assert.Null(figures.Left);
        Assert.InRange(figures.Elapsed, before.Elapsed, before.Elapsed + TimeSpan.FromMinutes(1));
        Assert.Equal(before.AccountsPerSecond, figures.AccountsPerSecond, before.AccountsPerSecond * 0.1);
    }

    [Fact]
    public void Time_left_is_shown_after_20_slices_or_30_seconds()
    {
        var quick = Simulation.Run(1, 500, 1, 0.5, 5);
        Assert.Null(quick.FiguresAt(quick.Began.AddSeconds(5)).Left);
        Assert.NotNull(quick.FiguresAt(quick.Began.AddSeconds(20)).Left);
        var slow = Simulation.Run(1, 500, 1, 10, 5);
        Assert.Null(slow.FiguresAt(slow.Began.AddSeconds(20)).Left);
        Assert.NotNull(slow.FiguresAt(slow.Began.AddSeconds(40)).Left);
    }

    [Fact]
    public void Slice_count_and_percentage_agree()
    {
        var run = Simulation.Run(1, 500, 16, 5, 100);
        for (var percent = 1; percent <= 100; percent++)
        {
            var now = run.Began + ((run.Ended - run.Began) * (percent / 100.0));
            var (load, figures) = (run.LoadAt(now), run.FiguresAt(now));
            var total = int.Parse(LoadFigures.Total(load, "").Replace(",", "", StringComparison.Ordinal), CultureInfo.InvariantCulture);
            Assert.InRange(figures.Searchable * total, load.Slices.Done - 1, load.Slices.Done + 1);
            Assert.Contains($" {LoadFigures.Percent(figures.Searchable)} searchable, slices {load.Slices.Done}/", LoadFigures.Line(load),
                StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Published_load_stays_searchable_while_its_slices_are_rewritten()
    {
        var run = Simulation.Run(1, 500, 8, 5, 30);
        var load = run.LoadAt(run.Ended) with { PublishedAt = run.Ended, Slices = new SliceCounts(0, 500, 0, 0) };
        Assert.Equal(1, LoadFigures.Of(load, null, run.Ended, 10).Searchable);
        Assert.Contains("rewriting, ", LoadFigures.Line(load), StringComparison.Ordinal);
        var failed = load with { State = LoadState.Failed, Slices = new SliceCounts(0, 0, 499, 1), Error = "slice 3: no" };
        Assert.Equal(1, LoadFigures.Of(failed, null, run.Ended, 10).Searchable);
        Assert.DoesNotContain("failed", LoadFigures.Line(failed), StringComparison.Ordinal);
        var text = StatusSamples.TextOf(new StatusSnapshot([failed], [], [], [], []), run.Ended);
        Assert.DoesNotContain("load 1 of Adobe failed", text, StringComparison.Ordinal);
        Assert.Contains("load 1 of Adobe is published; writing slices of it again failed", text, StringComparison.Ordinal);
        Assert.Contains("100%", text, StringComparison.Ordinal);
    }

    /// <summary>Tests work that reports its progress, such as a rebuild or a removal.</summary>
    [Fact]
    public void Time_left_of_reported_work_is_within_a_factor_of_the_actual_time()
    {
        var random = new Random(1);
        var (left, at, done, total) = (new TimeLeft(), TimeSpan.Zero, 0.0, 400.0);
        var seen = new List<(TimeSpan At, double Done, TimeSpan? Left)>();
        while (done < total)
        {
            at += TimeSpan.FromSeconds(random.NextDouble() * 2);
            done = Math.Min(done + random.NextDouble(), total);
            seen.Add((at, done, left.Next(at, done, total - done)));
        }
        Assert.All(seen.Where(one => one.Done < 20 && one.At < TimeSpan.FromSeconds(30)), one => Assert.Null(one.Left));
        Assert.All(
            seen.Where(one => one.Done > total * 0.2 && one.Done < total * 0.9),
            one => Assert.InRange(one.Left!.Value / (at - one.At), 1 / MaxShare, MaxShare));
    }

    /// <summary>A load of equal slices that each take a random time.</summary>
    private sealed class Simulation
    {
        private List<(DateTimeOffset Committed, DateTimeOffset Begun, DateTimeOffset Done)> _slices = [];
        private DateTimeOffset _ingested;
        private List<(DateTimeOffset From, TimeSpan For)> _stalls = [];

        public DateTimeOffset Began { get; private set; }

        public DateTimeOffset Ended { get; private set; }

        public static Simulation Run(
            int seed, int slices, int maxConcurrency, double secondsOfSlice, double secondsOfIngest,
            (double At, TimeSpan For)[]? stalls = null, double? secondsOfLaterSlice = null)
        {
            var random = new Random(seed);
            var run = new Simulation();
            var workers = Enumerable.Repeat(Start, maxConcurrency).ToArray();
            for (var i = 0; i < slices; i++)
            {
                // In batches of two slices.
                var committed = Start.AddSeconds(secondsOfIngest * ((i / 2) + 1) / (slices / 2));
                var worker = Array.IndexOf(workers, workers.Min());
                var begun = workers[worker] > committed ? workers[worker] : committed;
                workers[worker] = begun.AddSeconds(
                    (i < slices / 2 ? secondsOfSlice : secondsOfLaterSlice ?? secondsOfSlice) * (0.7 + (0.6 * random.NextDouble())));
                run._slices.Add((committed, begun, workers[worker]));
            }
            run._ingested = Start.AddSeconds(secondsOfIngest);
            run.Began = run._slices[0].Begun;
            var ended = run._slices.Max(slice => slice.Done);
            foreach (var (part, time) in (stalls ?? []).OrderByDescending(stall => stall.At))
            {
                // Interrupted slices are restarted once a host works again.
                var at = run.Began + ((ended - run.Began) * part);
                run._stalls.Insert(0, (at, time));
                run._stalls = [.. run._stalls.Select((stall, i) => i == 0 ? stall : (stall.From + time, stall.For))];
                run._slices = run._slices.ConvertAll(slice => (
                    slice.Committed > at ? slice.Committed + time : slice.Committed,
                    slice.Done > at ? (slice.Begun > at ? slice.Begun : at) + time : slice.Begun,
                    slice.Done > at ? slice.Done + time : slice.Done));
            }
            run.Ended = run._slices.Max(slice => slice.Done);
            return run;
        }

        /// <summary>Returns when this share of its working time has passed.</summary>
        public DateTimeOffset AtWork(double part)
        {
            var at = Began + (WorkAfter(Began) * part);
            foreach (var (from, time) in _stalls)
                at += at > from ? time : TimeSpan.Zero;
            return at;
        }

        public DateTimeOffset DoneAt(int count) => _slices.Select(slice => slice.Done).Order().ElementAt(count - 1);

        public TimeSpan WorkAfter(DateTimeOffset now) =>
            Ended - now - _stalls.Where(stall => stall.From >= now).Aggregate(TimeSpan.Zero, (sum, stall) => sum + stall.For);

        public LoadFigures FiguresAt(DateTimeOffset now)
        {
            var stalls = _stalls.Exists(stall => now > stall.From && now < stall.From + stall.For);
            var times = _slices.Where(slice => slice.Committed <= now).Select(slice => new SliceTimes(
                slice.Committed, slice.Begun <= now && !(stalls && slice.Done > now) ? slice.Begun : null,
                slice.Done <= now ? slice.Done : null));
            var load = LoadAt(now);
            if (load.State == LoadState.Ingesting && !stalls)
                load = load with { LeaseExpiresAt = now.AddSeconds(30) };
            return LoadFigures.Of(load, new LoadWork(new(1), [.. times], null, null), now, 10);
        }

        public Load LoadAt(DateTimeOffset now)
        {
            var committed = _slices.Count(slice => slice.Committed <= now);
            var done = _slices.Count(slice => slice.Done <= now);
            return StatusSamples.NewLoad(1, committed < _slices.Count ? LoadState.Ingesting : LoadState.Upserting, Start) with
            {
                IngestComplete = committed == _slices.Count,
                IngestedAt = committed == _slices.Count ? _ingested : null,
                UpsertedAt = done == _slices.Count ? Ended : null,
                Checkpoint = new LoadCheckpoint { BlobBytesRead = committed, BlobBytes = _slices.Count },
                Slices = new SliceCounts(0, committed - done, done, 0),
                Accounts = committed * 10_000L,
                LastPosition = committed * 10_000L,
                Entities = done * 10_000L,
            };
        }
    }
}
