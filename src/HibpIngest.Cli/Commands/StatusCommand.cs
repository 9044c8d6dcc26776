using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Commands;

internal sealed class StatusCommand : HibpCommand
{
    // Fast enough to watch, and slow enough for a database that hosts are using.
    private static readonly TimeSpan WatchInterval = TimeSpan.FromSeconds(1);

    /// <summary>The exit code that shells expect if a program's reader has exited (128 + SIGPIPE), like 130 after an interrupt.</summary>
    internal const int BrokenPipe = 141;

    private readonly Argument<string?> _breach =
        new("BREACH") { Description = "Only the loads of this breach.", Arity = ArgumentArity.ZeroOrOne };
    private readonly Option<bool> _all = new("--all")
    {
        Description = "Show all loads. Without it, older loads that ended over a day ago are left out, except the newest. With a breach or "
            + "--json, all loads are shown.",
    };
    private readonly Option<bool> _watch = new("--watch") { Description = "Refresh the display until Ctrl+C." };

    public StatusCommand()
        : base("status", "Show loads with progress and rates, queues, hosts, files that wait, and errors.")
    {
        Add(_breach, _all, _watch);
        Validators.Add(result =>
        {
            if (IsGiven(result, _watch) && IsGiven(result, CommonOptions.Json))
                result.AddError("--json writes one document: --watch can't be given with it");
        });
        AddExamples(
            ("hibp status", "open and recent loads, queues and hosts"),
            ("hibp status --all", "all loads"),
            ("hibp status Adobe --watch", "one breach, refreshed every second"),
            ("hibp status --json", "as JSON: {\"loads\": [...], \"queues\": [...], \"hosts\": [...], ...}"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var name = session.Parsed.GetValue(_breach);
        await using var reader = new StatusReader(session, name, session.Parsed.GetValue(_all));
        if (session.Parsed.GetValue(_watch))
        {
            ExitCode = await WatchAsync(session, reader, cancellationToken);
            return;
        }
        var picture = await reader.ReadAsync(cancellationToken);
        if (!session.Screen.TryShowJson(() => Documents.Of(picture, session.Time.GetUtcNow(), reader.MailsPerSecond)))
            session.Screen.Show(reader.View(picture, max: null));
    }

    private static async Task<int> WatchAsync(CommandSession session, StatusReader reader, CancellationToken cancellationToken)
    {
        var results = session.Screen.Results;
        if (!results.Profile.Out.IsTerminal)
        {
            string? reported = null;
            while (true)
            {
                var (picture, unavailable) = await reader.TryReadAsync(cancellationToken);
                if (unavailable is null)
                    session.Screen.Show(reader.View(picture!, max: null));
                else if (unavailable != reported)
                    session.Screen.Say(Waiting(unavailable));
                reported = unavailable;
                if (session.Environment.IsOutputAbandoned())
                    return BrokenPipe;
                await Task.Delay(WatchInterval, session.Time, cancellationToken);
            }
        }
        StatusSnapshot? last = null;
        IRenderable shown = new Text("looking...");
        await results.Live(shown).Overflow(VerticalOverflow.Ellipsis).Cropping(VerticalOverflowCropping.Bottom).StartAsync(async live =>
        {
            try
            {
                while (true)
                {
                    var (picture, unavailable) = await reader.TryReadAsync(cancellationToken);
                    last = picture ?? last;
                    shown = last is null ? new Text("") : reader.View(last, MaxLoads(results));
                    live.UpdateTarget(
                        unavailable is null ? shown : new Rows(new Text(Waiting(unavailable) + "\n", new Style(Color.Yellow)), shown));
                    await Task.Delay(WatchInterval, session.Time, cancellationToken);
                }
            }
            catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
            {
                // The last picture stays on the screen.
            }
        });
        cancellationToken.ThrowIfCancellationRequested();
        return 0;
    }

    private static string Waiting(string reason) => $"waiting: {reason}";

    // Each load takes a line; the other 24 are headings, queues and hosts.
    private static int MaxLoads(IAnsiConsole console) => Math.Max(console.Profile.Height - 24, 3);

    /// <summary>Reads one picture after another; stores that are unavailable or missing are opened once they can be.</summary>
    private sealed class StatusReader(CommandSession session, string? name, bool all) : IAsyncDisposable
    {
        // An available store responds in far less; an unavailable one would be retried all the time.
        private static readonly TimeSpan ReadTimeout = TimeSpan.FromSeconds(10);

        // Loads to show if none is recent.
        private const int Newest = 5;

        private readonly LoadMotion _motion = new(session.Time);
        private ServiceProvider? _open;
        private string? _breach;

        public async Task<StatusSnapshot> ReadAsync(CancellationToken cancellationToken)
        {
            if (_open is null)
                _open = await session.OpenExistingAsync(cancellationToken);
            else
                await session.RequireEmulatorAsync(cancellationToken);
            // Resolved in each round until found: without a name, all loads would be shown.
            if (name is not null)
                _breach ??= (await GetBreachAsync(_open, name, cancellationToken)).Name;
            var picture = await StatusSnapshot.ReadAsync(_open, _breach, cancellationToken);
            return await picture.WithWorkAsync(_open.GetRequiredService<IBreachDatabase>(), Shown(picture).Loads, cancellationToken);
        }

        public async Task<(StatusSnapshot? Picture, string? Unavailable)> TryReadAsync(CancellationToken cancellationToken)
        {
            using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
            timeout.CancelAfter(ReadTimeout);
            try
            {
                return (await ReadAsync(timeout.Token), null);
            }
            catch (Exception e) when (e is UnavailableException or StoreMissingException or NotPossibleException)
            {
                // A database that was moved away and back is another file.
                if (e is not UnavailableException)
                    await DisposeAsync();
                return (null, e.Message);
            }
            catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
            {
                return (null, $"the store did not respond within {ReadTimeout.TotalSeconds:0} seconds");
            }
        }

        public double MailsPerSecond => session.Settings.Get<MailOptions>().MailsPerSecond;

        public IRenderable View(StatusSnapshot picture, int? max)
        {
            var now = session.Time.GetUtcNow();
            var shown = Shown(picture);
            if (max is { } count)
                shown = Fit(shown, count);
            return StatusView.Create(
                shown, now, MailsPerSecond, session.Settings.Get<JournalOptions>().Mode == JournalMode.On, _motion.Moves,
                picture.Loads.Count - shown.Loads.Count);
        }

        private StatusSnapshot Shown(StatusSnapshot picture) =>
            all || name is not null || session.Screen.Json ? picture : picture.Recent(session.Time.GetUtcNow(), Newest);

        // The rest would push what matters off the screen.
        private static StatusSnapshot Fit(StatusSnapshot picture, int loads) => picture with
        {
            Loads = [.. picture.Loads.Skip(picture.Loads.Count - loads)],
            Queues = [.. picture.Queues.Where(queue => queue.Messages > 0 || queue.Poison > 0)],
        };

        public async ValueTask DisposeAsync()
        {
            if (_open is not null)
                await _open.DisposeAsync();
            _open = null;
        }
    }
}
