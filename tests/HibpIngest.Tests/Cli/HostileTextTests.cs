using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Output;
using HibpIngest.Pipeline.Removal;
using Microsoft.Extensions.Logging;
using Spectre.Console;

namespace HibpIngest.Tests.Cli;

public sealed class HostileTextTests
{
    private static readonly DateTimeOffset Now = new(2026, 3, 4, 22, 41, 0, TimeSpan.Zero);

    // By number, because a test report can't contain the texts.
    public static TheoryData<int> Each() => [.. Enumerable.Range(0, HostileText.All.Count)];

    [Theory]
    [MemberData(nameof(Each))]
    public void Terminal_control_sequences_are_not_printed(int each)
    {
        var hostile = HostileText.All[each];
        foreach (var isTerminal in (bool[])[true, false])
        {
            var text = new StringWriter();
            var console = isTerminal ? TerminalOn(text) : Screen.Create(text);
            Show(new Screen(json: false, console, console), $"before{hostile}after");
            HostileText.AssertClean(text.ToString());
            Assert.Contains("before", text.ToString(), StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Table_cell_with_line_breaks_stays_on_one_line()
    {
        var text = new StringWriter();
        var table = TableFormat.Create("breach", "title");
        table.AddRow(new Text("Adobe"), new Text("one\r\ntwo\nthree\tfour\u001b[31m"));
        new Screen(json: false, TerminalOn(text), TerminalOn(text)).Show(table);
        Assert.Contains(" Adobe    one two three four\uFFFD[31m ", text.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void Live_displays_are_sanitized()
    {
        var text = new StringWriter();
        var console = AnsiConsole.Create(new AnsiConsoleSettings
        {
            Out = new AnsiConsoleOutput(text),
            Ansi = AnsiSupport.Yes,
            Interactive = InteractionSupport.Yes,
        });
        var screen = new Screen(json: false, console, console);
        screen.Results.Live(new Text("")).Start(context => context.UpdateTarget(new Text($"live{HostileText.Everything}")));
        screen.Messages.Status().Start(Markup.Escape($"status{HostileText.Everything}"), context => context.Refresh());
        screen.Messages.Progress().Start(context => context.AddTask(Markup.Escape($"task{HostileText.Everything}")).Value = 100);
        var shown = text.ToString();
        foreach (var word in (string[])["live\uFFFD", "status\uFFFD", "task\uFFFD"])
            Assert.Contains(word, shown, StringComparison.Ordinal);
        foreach (var word in (string[])["\u001b[2J", "\u001b[31m", "\u001b]", "\rover"])
            Assert.DoesNotContain(word, shown, StringComparison.Ordinal);
        // The remaining control sequences are the console's own.
        HostileText.AssertClean(Regex.Replace(shown, "\u001b\\[[0-9;?]*[A-Za-z]|\r", "", RegexOptions.None, TimeSpan.FromSeconds(1)));
    }

    [Fact]
    public void Joiners_line_breaks_and_tabs_are_printed_unchanged()
    {
        var text = new StringWriter();
        var screen = new Screen(json: false, Screen.Create(text), Screen.Create(text));
        const string Words = "می\u200Cخواهم \U0001F468\u200D\U0001F469\u200D\U0001F467 Zoë\n\tsecond";
        screen.Show(Words);
        Assert.Equal(Words + Environment.NewLine, text.ToString());
    }

    [Theory]
    [MemberData(nameof(Each))]
    public void Json_log_line_escapes_hostile_text_and_keeps_its_value(int each)
    {
        var hostile = HostileText.All[each];
        var lines = new JsonLines(new TestClock());
        var line = lines.Line(LogLevel.Warning, "Stage", default, hostile, [new("Breach", hostile)], null);
        HostileText.AssertClean(line);
        var json = System.Text.Json.JsonDocument.Parse(line).RootElement;
        Assert.Equal(
            (hostile, hostile), (json.GetProperty("message").GetString(), json.GetProperty("fields").GetProperty("Breach").GetString()));
    }

    private static void Show(Screen screen, string hostile)
    {
        screen.Show(hostile);
        screen.Say(hostile);
        screen.Ask(hostile);
        var breach = new Breach
        {
            Name = "Adobe",
            Metadata = new BreachMetadata { Title = hostile, Domain = hostile, DataClasses = [hostile] },
            PublishedAt = Now,
        };
        BreachListCommand.Show(screen, [breach], Array.Empty<Load>().ToLookup(load => load.Breach), new Dictionary<string, OpenRemoval>());
        LookupCommand.Show(screen, hostile, [new PublicBreach { Name = "Adobe", Title = hostile, DataClasses = [hostile, hostile] }]);
        LookupCommand.Show(screen, hostile, []);
        SubscribersListCommand.Show(screen, [new Subscription(hostile, hostile)]);
        DoctorCommand.Show(screen, [new DoctorLine("blobs", "broken", hostile, hostile)]);
        var host = new Heartbeat("aa", hostile, 1, hostile, hostile, Now, Now, []);
        screen.Show(StatusView.Create(
            new StatusSnapshot(
                [], [new QueueDocument(hostile, 7, 1)], [host, host with { Host = "bb", Version = "2" }],
                [new HeldWork(new(3), hostile, 49, "cc-1", Now)], [new BreachBlob(new BlobVersion(hostile, "1"), 5, Now)]),
            Now, mailsPerSecond: 10, showsJournal: true, _ => true));
    }

    private static IAnsiConsole TerminalOn(TextWriter writer) => ScreensTests.Console(writer, width: 500);
}
