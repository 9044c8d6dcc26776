using System.Net.Http.Json;
using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Session;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the messages of commands and hosts about links, bad input and stopping.</summary>
public sealed class OperatorTextTests : CommandTestBase
{
    [Fact]
    public async Task Command_line_without_a_command_prints_the_help_with_every_exit_code()
    {
        var plain = (await RunAsync()).Succeeded();
        Assert.Equal("", plain.Error);
        Assert.Equal((await RunAsync("--help")).Output, plain.Output);
        int[] exitCodes =
            [0, Failure.Failed, Failure.WrongUsage, StopSignals.ByInterrupt, StopSignals.ByTermination, StatusCommand.BrokenPipe];
        var line = plain.Output.Split('\n').Single(text => text.StartsWith("Exit codes: ", StringComparison.Ordinal));
        Assert.Equal(
            exitCodes.Select(code => $"{code}"),
            line.Split(' ', StringSplitOptions.RemoveEmptyEntries).Where(word => char.IsAsciiDigit(word[0])));
    }

    [Fact]
    public async Task Invalid_command_line_exits_with_2_and_refers_to_help() => Assert.Equal(
        new HibpResult(
            Failure.WrongUsage, "",
            string.Join(Environment.NewLine, "error: give exactly one of --slice, --failed, --all", "see: hibp load requeue --help", "")),
        await RunAsync("load", "requeue", "Adobe"));

    [Fact]
    public async Task Links_use_the_listening_address_unless_HIBP_WEB_URL_is_set()
    {
        var url = $"http://127.0.0.1:{TestProcess.FreePort()}";
        // A host with all roles: its links point to its own API.
        await using (var host = await StartAsync("ready", "run", "--roles", "ingest,upsert,notify,sweep,web", "--open", "--urls", url))
        {
            Assert.Contains($"warning: HIBP_WEB_URL is not set: this process makes links from {url}", host.Error, StringComparison.Ordinal);
            Assert.Contains("it must not be behind a proxy", host.Error, StringComparison.Ordinal);
            (await RunAsync("drop", Zip("Alpha.zip", "user1@example1.com"), "--wait")).Succeeded();
            Assert.Equal(url, await ServerAsync(url));
            using var http = Client();
            // A reader's catalogue is a few seconds old.
            var alpha = new Uri($"{url}/api/v3/breach/Alpha");
            Assert.Equal(HttpStatusCode.OK, await Probe.AskUntilAsync(HttpStatusCode.OK, async () =>
            {
                using var answer = await http.GetAsync(alpha);
                return answer.StatusCode;
            }));
            var breach = await http.GetFromJsonAsync<JsonElement>(alpha);
            Assert.Equal($"{url}/logos/default.png", breach.GetProperty("LogoPath").GetString());
        }
        foreach (var (named, warning) in ((string, string?)[])[
            ("https://breaches.example.com", null), (url, null),
            ("http://127.0.0.1:1", "warning: HIBP_WEB_URL is http://127.0.0.1:1, and")])
        {
            Variables["HIBP_WEB_URL"] = named;
            await using var host = await StartAsync("ready", "serve", "--open", "--urls", url);
            Assert.Equal(named, await ServerAsync(url));
            if (warning is null)
                Assert.DoesNotContain("HIBP_WEB_URL", host.Error, StringComparison.Ordinal);
            else
                Assert.Contains(warning, host.Error, StringComparison.Ordinal);
            var stopped = await host.TerminateAsync();
            Assert.Contains("stopping: waiting for requests in progress; Ctrl+C again", stopped.Error, StringComparison.Ordinal);
        }

        static async Task<string?> ServerAsync(string url)
        {
            using var http = Client();
            var document = await http.GetFromJsonAsync<JsonElement>($"{url}/openapi/v3.json");
            return document.GetProperty("servers")[0].GetProperty("url").GetString();
        }
    }

    [Fact]
    public async Task Host_and_commands_report_unknown_metadata_a_restart_and_a_stop()
    {
        await using var host = await StartAsync("ready", "run");
        Folder.Write(
            "Alpha.json", """{"Titel":"Alpha","IsVerifed":true,"PwnCount":7,"alice@example.com":1,"Zebra":1,"Sensitive":false}""");
        var drop = (await RunAsync("drop", Zip("Alpha.zip", "nothing in here"))).Succeeded();
        Assert.Equal(
            [
                "warning: Alpha.json: 'Titel' is not a property of breach metadata: did you mean 'Title'?",
                "warning: Alpha.json: 'IsVerifed' is not a property of breach metadata: did you mean 'IsVerified'?",
                "warning: Alpha.json: a name with an @ is not a property of breach metadata; docs/catalogue.md lists the properties",
                "warning: Alpha.json: 'Zebra' is not a property of breach metadata; docs/catalogue.md lists the properties",
            ],
            drop.Error.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
        Assert.True(await Probe.AskUntilAsync(
            true, async () => (await RunAsync("status", "Alpha", "--json")) is { ExitCode: 0 } status
                && status.Json.List("loads")[0].Text("state") == "failed"));
        var resumed = (await RunAsync("resume", "1", "--restart")).Succeeded();
        Assert.StartsWith("Load 1 of Alpha is restarted as load 2: ", resumed.Output, StringComparison.Ordinal);

        var stopped = await host.TerminateAsync();
        Assert.Contains(
            "load 1 of Alpha: 4 unknown metadata properties (nearest known: Title, IsVerified)", stopped.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("alice", stopped.Error, StringComparison.Ordinal);
        Assert.Matches("stopping.*Ctrl\\+C again ends it at once", stopped.Error);
    }

    [Fact]
    public async Task Import_lists_every_bad_line_and_skips_them_on_request()
    {
        await SetUpAsync();
        var file = Folder.Write(
            "people.csv", "email,domain\nann@example.com,\nsecret\nbob@example.com,example.org\n\"secret\"x@example.com,\n");
        var refused = await RunAsync("subscribers", "import", file);
        Assert.Equal(1, refused.ExitCode);
        Assert.Equal(
            [
                "line 3: the email is not an address", "line 5: the quotes are wrong",
                "error: 2 lines of people.csv are invalid, and nothing was imported; correct the file, or add --skip-invalid to "
                    + "import the valid lines",
            ],
            refused.Error.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
        Assert.Contains(
            "error: 1 line of one.csv is invalid",
            (await RunAsync("subscribers", "import", Folder.Write("one.csv", "email,domain\nsecret\n"))).Error, StringComparison.Ordinal);
        Assert.Empty((await JsonAsync("subscribers", "list")).List("subscribers"));

        var imported = (await RunAsync("subscribers", "import", file, "--skip-invalid", "--json")).Succeeded();
        Assert.Equal((2, 2), (imported.Json.Number("read"), imported.Json.Number("added")));
        Assert.Equal([3, 5], imported.Json.List("invalid").Select(one => one.Number("line")));
        Assert.Equal(
            "2 subscriptions read, 0 added; 2 invalid and not imported.",
            (await RunAsync("subscribers", "import", file, "--skip-invalid")).Succeeded().Output.TrimEnd());
        Assert.DoesNotContain("secret", refused.Error + imported.Output + imported.Error, StringComparison.Ordinal);
    }

    private static HttpClient Client()
    {
        var http = new HttpClient();
        http.DefaultRequestHeaders.UserAgent.ParseAdd("test");
        return http;
    }
}
