namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests that no command prints terminal control sequences from a breach's metadata.</summary>
public sealed class HostileMetadataTests : CommandTestBase
{
    private static readonly string Hostile = $"before{HostileText.Everything}after";

    [Fact]
    public async Task Commands_print_no_terminal_control_sequences_from_metadata()
    {
        var subscribers = Folder.Write("subscribers.csv", "email,domain\nuser1@example1.com,\n");
        // The uploader also chooses the names of a zip's entries, of the file and of properties.
        var zip = Folder.Write(
            "Alpha.zip", PipelineRig.Zip(($"dump{Hostile}.csv", "user1@example1.com,secret\nuser2@example2.com,x\n")));
        Folder.Write("Alpha.json", JsonSerializer.Serialize(new Dictionary<string, object>
        {
            ["Title"] = Hostile,
            ["Domain"] = Hostile,
            ["Description"] = Hostile,
            ["Attribution"] = Hostile,
            ["DataClasses"] = new[] { Hostile, "Passwords" },
            ["Titel" + HostileText.Everything] = 1,
        }));
        Folder.Write("Beta.zip", "no zip");
        Folder.Write("Beta.json", JsonSerializer.Serialize(new Dictionary<string, object> { ["Name"] = Hostile }));
        await using var host = await StartAsync("ready", "run", "--verbose");
        foreach (var line in (string[])[
            $"subscribers import {subscribers}", $"drop {zip} --wait", $"drop {Path.Combine(Folder.Path, "Beta.zip")}", "breach list",
            "lookup user1@example1.com", "status", "status Alpha", "load slices Alpha", "mail release Alpha --dry-run",
            "mail release Alpha", "mail preview Alpha", "mail preview Alpha --html", "mail refused Alpha", "subscribers list",
            "catalogue publish", "journal stats", "journal list", "journal write --load 1", "journal verify", "layout list",
            "poison list", "callbacks list", "clients list", "keys list", "passwords list", "access usage", "ranges status", "doctor",
            "breach hide Alpha", "breach unhide Alpha", "load requeue Alpha --all", "load resume 1", "database purge 1"])
            await AssertCleanAsync(line.Split(' '));
        await AssertCleanAsync("breach", "set", "Alpha", "--title", Hostile.Replace("\0", "", StringComparison.Ordinal));
        await AssertTerminalOutputIsCleanAsync();
        await AssertDocumentsAreExactAsync();
        await AssertCleanAsync("breach", "assign", "1", "Gamma");
        HostileText.AssertClean((await host.TerminateAsync()).Error, "run --verbose");
    }

    private async Task AssertCleanAsync(params string[] arguments)
    {
        var result = await RunAsync(arguments);
        Assert.DoesNotContain("unexpected", result.Error, StringComparison.Ordinal);
        HostileText.AssertClean(result.Output + result.Error, string.Join(' ', arguments.Take(2)));
    }

    /// <summary>Asserts that a terminal receives only the console's own colours and keypad modes.</summary>
    private async Task AssertTerminalOutputIsCleanAsync()
    {
        foreach (var line in (string[])["breaches", "lookup user1@example1.com", "status"])
        {
            await using var terminal = new TerminalProcess(Folder.Path, Variables, line);
            var (_, shown) = await terminal.EndAsync();
            // Nothing moves: the console's own sequences are colours, and keypad mode on and off.
            HostileText.AssertClean(
                Regex.Replace(shown, "\u001b(\\[[?0-9;]*[a-z]|[=>])|\r(?=\n)", "", RegexOptions.ExplicitCapture, TimeSpan.FromSeconds(1)),
                $"{line} on a terminal");
            foreach (var command in (string[])["\u001b]", "\u001b[2J", "\u001b[1A", "\u001b[31m", "\a", "\rover"])
                Assert.DoesNotContain(command, shown, StringComparison.Ordinal);
        }
    }

    private async Task AssertDocumentsAreExactAsync()
    {
        var breaches = (await RunAsync("breaches", "--json")).Succeeded();
        HostileText.AssertClean(breaches.Output, "breaches --json");
        Assert.All(breaches.Output, letter => Assert.InRange(letter, '\n', '~'));
        var alpha = breaches.Json.List("breaches").Single(one => one.Text("name") == "Alpha");
        Assert.Equal(Hostile, alpha.List("dataClasses")[0].GetString());
        var lookup = (await RunAsync("lookup", "user1@example1.com", "--json")).Succeeded();
        HostileText.AssertClean(lookup.Output, "lookup --json");
    }
}
