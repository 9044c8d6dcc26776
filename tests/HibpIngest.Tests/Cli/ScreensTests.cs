using System.CommandLine;
using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Output;
using HibpIngest.Cli.TableBench;
using HibpIngest.Pipeline.Removal;
using Spectre.Console;

namespace HibpIngest.Tests.Cli;

/// <summary>Tests the output of commands on terminals of 60 and 100 columns, and in a pipe, against the files in Screens/.</summary>
public sealed class ScreensTests
{
    private const string Folder = "tests/HibpIngest.Tests/Cli/Screens";

    // In this machine's time zone, so that the output is the same everywhere.
    private static readonly DateTimeOffset Now = new(new DateTime(2026, 3, 4, 22, 41, 0, DateTimeKind.Local));

    private static readonly Heartbeat Host =
        new("aa", "web-1", 4711, Heartbeat.Everything, "1.0.0", Now.AddHours(-1), Now.AddSeconds(-3), []);

    private static readonly PublicBreach Adobe = new()
    {
        Name = "Adobe",
        Title = "Adobe Systems",
        BreachDate = new DateOnly(2013, 10, 4),
        DataClasses = ["Email addresses", "Password hints", "Passwords", "Usernames"],
    };

    private static readonly Breach AdobeBreach = new()
    {
        Name = "Adobe",
        Metadata = new BreachMetadata
        {
            Title = "Adobe Systems",
            Domain = "adobe.com",
            BreachDate = new DateOnly(2013, 10, 4),
            Flags = BreachFlags.Verified | BreachFlags.Sensitive,
        },
        PublishedAt = Now,
    };

    private static readonly Dictionary<string, Action<Screen>> Screens = new()
    {
        ["status"] = screen => screen.Show(StatusView.Create(Busy(), Now, mailsPerSecond: 10, showsJournal: true, _ => true, left: 12)),
        ["status-empty"] = screen =>
            screen.Show(StatusView.Create(new StatusSnapshot([], [], [], [], []), Now, mailsPerSecond: 10, showsJournal: true, _ => true)),
        ["progress"] = screen =>
        {
            foreach (var load in Busy().Loads)
                screen.Say($"{LoadFigures.Line(load)}, {Busy().FiguresOf(load, Now, mailsPerSecond: 10, moves: true).Times}");
        },
        ["demo"] = screen =>
        {
            screen.Show(DemoCommand.Summary(Finished(), TimeSpan.FromSeconds(194), showsRules: false));
            LookupCommand.Show(screen, "somebody@contoso.example", [Adobe]);
        },
        ["demo-rules"] = screen => screen.Show(DemoCommand.Summary(Finished(), TimeSpan.FromSeconds(194), showsRules: true)),
        ["doctor"] = screen => DoctorCommand.Show(screen,
        [
            new DoctorLine("settings", "ok", "read from the command line and HIBP_ variables", null),
            new DoctorLine("emulator", "missing", "not installed yet", "nothing to do: hibp run or hibp demo installs it"),
            new DoctorLine(
                "blobs", "broken", "the storage emulator is not running", "hibp run starts it; or name a storage account in HIBP_STORAGE"),
            new DoctorLine("identity", "skipped", "needs database and tables", null),
        ]),
        ["breaches"] = screen => BreachListCommand.Show(
            screen, [AdobeBreach, AdobeBreach with { Name = "Tailspin", PublishedAt = null }],
            new[] { Finished() }.ToLookup(load => load.Breach),
            new Dictionary<string, OpenRemoval> { ["Tailspin"] = new OpenRemoval("Tailspin", [new(6)], 0.38) }),
        ["subscribers"] = screen => SubscribersListCommand.Show(
            screen, [new Subscription("alice@example.com", null), new Subscription("postmaster@contoso.example", "contoso.example")]),
        ["lookup"] = screen =>
        {
            LookupCommand.Show(screen, "Somebody@Contoso.example", [Adobe, Adobe with { Name = "Fabrikam", Title = "Fabrikam" }]);
            LookupCommand.Show(screen, "nobody@contoso.example", []);
        },
        ["bench"] = screen =>
        {
            BenchResult[] results =
                [.. TableBenchTests.Series(1, "700 1900 1900 1900"), .. TableBenchTests.Series(BenchPlan.Many, "700 2800 9000 16000", 12)];
            BenchView.Show(screen, results);
            screen.Show(BenchView.Chart(results));
            var findings = new BenchFindings(results, isEmulator: false, transactionsInFlight: 16);
            BenchView.ShowFindings(screen, findings.Advise(), findings.Compare());
        },
        ["sizes"] = screen =>
        {
            foreach (var bytes in (long[])[0, 9_999, 10_000, 10L << 20, 250L << 20, 12L << 30, 100L << 40])
                screen.Show(TableFormat.Bytes(bytes));
        },
        ["rules"] = screen =>
        {
            screen.Show(RuleWords.Of(null));
            foreach (var rule in Enum.GetValues<AccountRule>())
                screen.Show(RuleWords.Of(rule));
        },
    };

    private static readonly Dictionary<string, int?> Widths = new() { ["60"] = 60, ["100"] = 100, ["piped"] = null };

    public static TheoryData<string, string> All()
    {
        var all = new TheoryData<string, string>();
        foreach (var screen in Screens.Keys)
        {
            // Independent of the screen's width.
            foreach (var width in screen is "progress" or "sizes" or "rules" ? ["piped"] : Widths.Keys.ToArray())
                all.Add(screen, width);
        }
        return all;
    }

    [Theory]
    [MemberData(nameof(All))]
    public void Screen_matches_the_reviewed_file(string screen, string width)
    {
        var text = new StringWriter();
        var console = Console(text, Widths[width]);
        Screens[screen](new Screen(json: false, console, console));
        var lines = text.ToString().ReplaceLineEndings("\n").Split('\n').Select(line => line.TrimEnd()).ToList();
        if (Widths[width] is { } columns)
            Assert.All(lines, line => Assert.True(line.Length <= columns, line));
        Compare($"{Folder}/{screen}-{width}.txt", string.Join('\n', lines));
    }

    [Theory]
    [InlineData("")]
    [InlineData("status")]
    [InlineData("mail")]
    public void Help_matches_the_reviewed_file(string command)
    {
        var text = new StringWriter();
        CommandTree.Create().Parse([.. command.Split(' ', StringSplitOptions.RemoveEmptyEntries), "--help"])
            .Invoke(new InvocationConfiguration { Output = text });
        Compare(
            $"{Folder}/help{(command.Length > 0 ? "-" : "")}{command}.txt",
            string.Join('\n', text.ToString().ReplaceLineEndings("\n").Split('\n').Select(line => line.TrimEnd()))
                // The name of the test runner.
                .Replace(RootCommand.ExecutableName, "hibp", StringComparison.Ordinal));
    }

    /// <summary>Compares a text with a file of the repository; HIBP_GOLDEN=write rewrites the file for review before a commit.</summary>
    internal static void Compare(string file, string text)
    {
        var path = Path.Combine(DocumentFiles.Root, file);
        if (Environment.GetEnvironmentVariable("HIBP_GOLDEN") == "write")
            File.WriteAllText(path, text);
        Assert.True(File.Exists(path), $"{file} doesn't exist: HIBP_GOLDEN=write writes it");
        Assert.Equal(File.ReadAllText(path).ReplaceLineEndings("\n"), text);
    }

    internal static IAnsiConsole Console(TextWriter writer, int? width)
    {
        if (width is null)
            return Screen.Create(writer);
        var console = AnsiConsole.Create(new AnsiConsoleSettings
        {
            Out = new AnsiConsoleOutput(writer),
            Ansi = AnsiSupport.No,
            ColorSystem = ColorSystemSupport.NoColors,
        });
        console.Profile.Width = width.Value;
        console.Profile.Capabilities.Unicode = true;
        return console;
    }

    /// <summary>Returns a picture with every state of loads, queues and hosts.</summary>
    private static StatusSnapshot Busy() => new(
        [
            Finished(),
            Of(2, "Fabrikam", LoadState.Failed) with
            {
                Error = "the archive is damaged or incomplete: drop an intact copy",
                FinishedAt = Now.AddMinutes(-4),
            },
            Upserted(3, "Contoso", LoadState.Upserting, 1_250_000) with
            {
                Entities = 480_000,
                IngestedAt = Now.AddMinutes(-3),
                UpsertedAt = null,
                Slices = new SliceCounts(40, 37, 48, 0),
            },
            Upserted(4, "Northwind", LoadState.Notifying, 20_000) with
            {
                Blob = new BlobVersion("Northwind.2.zip", "1"),
                Notifications = new NotificationCounts(300, 198, 2),
            },
            Upserted(6, "Litware", LoadState.Done, 90_000) with { Removing = true, FinishedAt = Now.AddMinutes(-2) },
            Of(5, "Wingtip", LoadState.Held) with { HeldBecause = "held by an operator", Slices = new SliceCounts(0, 0, 1, 0) },
        ],
        [new QueueDocument("breach-slices", 77, 0), new QueueDocument("breach-mail", 3, 1)],
        [Host, Host with { Host = "dd", Machine = "web-2", ProcessId = 22, Roles = "ingest, upsert", SeenAt = Now.AddSeconds(-60) }],
        [
            new HeldWork(new(3), "Contoso", 49, "aa-1", Now.AddSeconds(40)),
            new HeldWork(new(3), "Contoso", 50, "dd-1", Now.AddSeconds(20)),
        ],
        [new BreachBlob(new BlobVersion("Tailspin.zip", "1"), 5_000_000, Now.AddMinutes(-2))])
    {
        Removals = [new OpenRemoval("Litware", [new(6)], 0.38), new OpenRemoval("Tailspin", [new(7), new(8)], 0)],
        Work = new[] { WorkOf(1, 16, 0), WorkOf(3, 48, 2), WorkOf(4, 2, 0) }.ToDictionary(work => work.Load),
    };

    /// <summary>Returns slices that each took two seconds, and some in progress.</summary>
    private static LoadWork WorkOf(long load, int done, int begun)
    {
        var began = Now.AddMinutes(-5);
        var slices = Enumerable.Range(0, done).Select(i => new SliceTimes(
            began.AddSeconds(i + 1), began.AddSeconds(i * 2), began.AddSeconds((i + 1) * 2)));
        var open = Enumerable.Range(0, begun).Select(i => new SliceTimes(began.AddSeconds(60), Now.AddSeconds(-1), null, 0.25));
        return new LoadWork(new(load), [.. slices, .. open], Now.AddMinutes(-2.5), Now.AddMinutes(-2));
    }

    private static Load Finished() => Upserted(1, "Adobe", LoadState.Done, 152_445) with
    {
        Batches = 8,
        FinishedAt = Now.AddMinutes(-2),
        Notifications = new NotificationCounts(0, 12, 0),
        PublishedAt = Now.AddMinutes(-3),
        JournaledVersion = 0,
        Checkpoint = new LoadCheckpoint { Rejected = Rejected() },
    };

    private static RejectionCounts Rejected()
    {
        var counts = new RejectionCounts { Duplicates = 3_210 };
        counts.ByRule[(int)AccountRule.AliasLength] = 4;
        counts.ByRule[(int)AccountRule.TopLevelDomain] = 1_234;
        return counts;
    }

    /// <summary>Returns a load whose slices of 10,000 accounts are all written.</summary>
    private static Load Upserted(long id, string breach, LoadState state, int accounts) => Of(id, breach, state) with
    {
        Accounts = accounts,
        LastPosition = accounts,
        Entities = accounts,
        IngestComplete = true,
        IngestedAt = Now.AddMinutes(-4),
        UpsertedAt = Now.AddMinutes(-3),
        Slices = new SliceCounts(0, 0, (accounts + 9_999) / 10_000, 0),
    };

    private static Load Of(long id, string breach, LoadState state) => StatusSamples.NewLoad(id, state, Now.AddMinutes(-5), breach);
}
