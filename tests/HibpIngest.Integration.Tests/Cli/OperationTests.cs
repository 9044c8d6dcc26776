using System.Net.Sockets;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>
/// Tests what an operator sees when things around a host go wrong: real processes, an emulator and a mail server are
/// killed, stopped and replaced, and host and <c>hibp status</c> must report it.
/// </summary>
public sealed partial class OperationTests : CommandTestBase
{
    private const int Accounts = 20_000;

    private static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(1);

    private readonly SmtpTestServer _mail = new();

    public override Task InitializeAsync()
    {
        Variables["HIBP_EMULATOR_PORT"] = FreePorts().ToString(CultureInfo.InvariantCulture);
        (Variables["HIBP_MAIL"], Variables["HIBP_MAIL_FROM"]) = (_mail.Setting, "breaches@example.com");
        Variables["HIBP_SLICEROWS"] = "1000";
        // Ranges cost the emulator a request per account, and aren't tested here.
        Variables["HIBP_RANGES"] = "off";
        return Task.CompletedTask;
    }

    [Fact]
    public async Task Host_reports_wrong_settings_and_a_refusing_mail_server_at_start()
    {
        Variables["HIBP_MALSPERSECOND"] = "5";
        _mail.Script = step => step.Name == "MAIL" ? SmtpAnswer.Say("550 5.7.1 not from here") : null;
        var refused = await RunAsync("run");
        Assert.Equal(1, refused.ExitCode);
        Assert.Contains(
            "HIBP_MALSPERSECOND is not a setting; did you mean HIBP_MAILSPERSECOND?", refused.Error, StringComparison.Ordinal);
        Assert.Contains("550 5.7.1", refused.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("ready", refused.Error, StringComparison.Ordinal);

        // An unavailable mail server may be back later, so the host starts with a warning. Without a role that mails, it isn't checked.
        _mail.Script = step => step.Name == "greeting" ? SmtpAnswer.Say("421 4.3.2 later") : null;
        await using var host = await StartAsync("ready", "run");
        Assert.Contains("warning: mails can't be sent now", host.Error, StringComparison.Ordinal);
        _mail.Script = null;
        (await RunAsync("mail", "test", "somebody@example.org")).Succeeded();
        var mail = Assert.Single(_mail.Mails);
        Assert.Equal("somebody@example.org", mail.To);

        (await RunAsync("mail", "preview", "Nothing")).FailedWith("no breach 'Nothing'");
        (await RunAsync("subscribers", "import", Subscribers())).Succeeded();
        _mail.Script = step => step.Name == "RCPT" ? SmtpAnswer.Say("550 5.1.1 nobody here") : null;
        (await RunAsync("drop", Zip("Seen.zip", PipelineRig.Accounts(0, 9)), "--title", "Seen & heard", "--wait")).Succeeded();
        var line = Assert.Single((await RunAsync("mail", "refused", "seen", "--json")).Succeeded().Json.List("refused"));
        Assert.Equal((1, "user8@d1.example.org", null), (line.Number("load"), line.Text("email"), line.Text("domain")));
        Assert.Contains("550 5.1.1", line.Text("reason"), StringComparison.Ordinal);
        (await RunAsync("mail", "refused", "Seen")).Printed("550 5.1.1");
        (await RunAsync("status")).Printed("1 mail was refused; list them: hibp mail refused Seen");
        var preview = (await RunAsync("mail", "preview", "Seen")).Printed("Seen & heard");
        Assert.StartsWith("From: breaches@example.com", preview.Output, StringComparison.Ordinal);
        (await RunAsync("mail", "preview", "Seen", "--html")).Printed("Seen &amp; heard");
        Assert.Single(_mail.Mails);
        await host.TerminateAsync();
    }

    [Fact]
    public async Task Host_and_status_report_crashes_around_them_and_recover()
    {
        var emulatorPort = int.Parse(Variables["HIBP_EMULATOR_PORT"], CultureInfo.InvariantCulture);
        using var passed = new PassedTime(new LocalEmulator(Folder.Path, emulatorPort).Connection, DatabaseFile);
        // Status is watched before anything exists.
        await using var terminal = new TerminalProcess(Folder.Path, Variables, "status --watch");
        await terminal.SeesAsync("waiting: the storage emulator is not running");
        await using var owner = await StartAsync("ready", "run", "--roles", "notify,journal");
        await terminal.SeesAsync("roles");

        // No host ingests.
        (await RunAsync("subscribers", "import", Subscribers())).Succeeded();
        var zip = Zip("Big.zip", PipelineRig.Accounts(0, Accounts));
        await using var drop = await StartAsync("no running host ingests", "drop", zip, "--wait");
        (await RunAsync("status")).Printed("Big.zip: waiting for a host with the role 'ingest'");
        Assert.Equal("Big.zip", Assert.Single(await ListAsync("waiting")).Text("blob"));

        // A host that ingests and upserts crashes while it processes slices.
        await using (var crashing = await StartAsync("ready", "run"))
        {
            // Polled in the database: when a process reports slices, they are already done.
            await using (var database = SqliteBreachDatabase.Open(DatabaseFile, TimeProvider.System))
            {
                await UntilAsync(
                    async () => (await database.ListLeasesAsync(None)).FirstOrDefault(work => work.Slice is not null),
                    TimeSpan.FromMilliseconds(50));
            }
            await KillAsync(crashing.Id);
            await passed.MissHeartbeatAsync(crashing.Id);
            var line = await UntilAsync(async () => HeldLine().Match(await StatusAsync()) is { Success: true } match ? match.Value : null);
            Assert.Contains($"({Environment.MachineName}, process {crashing.Id})", line, StringComparison.Ordinal);
            Assert.True((await ListAsync("hosts")).Single(host => host.Number("processId") == crashing.Id).Flag("missed"));
            await passed.ExpireLeasesAsync(crashing.Id);
            await passed.SweepAsync();
        }

        // The mail server is down when mails are due; then the emulator crashes, too.
        _mail.Script = step => step.Name == "greeting" ? SmtpAnswer.Say("421 4.3.2 later") : null;
        await using var second = await StartAsync("ready", "run");
        var trouble = await UntilAsync(async () => MailLine().Match(await StatusAsync()) is { Success: true } match ? match.Value : null);
        Assert.Contains("421", trouble, StringComparison.Ordinal);
        var next = (await ListAsync("hosts")).SelectMany(host => host.List("troubles")).First(one => one.Text("what") == "breach-mail");
        Assert.Equal(1, next.Number("load"));
        Assert.InRange(
            next.GetProperty("nextTry").GetDateTimeOffset(), TimeProvider.System.GetUtcNow().AddMinutes(-1),
            TimeProvider.System.GetUtcNow().AddMinutes(11));

        var emulator = int.Parse(EmulatorLine().Match(owner.Error).Groups["pid"].Value, CultureInfo.InvariantCulture);
        await KillAsync(emulator);
        // Commands wait for the emulator.
        (await RunAsync("breaches")).Succeeded();
        await UntilAsync(() => Task.FromResult(
            owner.Error.Contains("the storage emulator runs again", StringComparison.Ordinal) ? "" : null));
        Assert.Contains(
            $"the storage emulator (pid {emulator}) ended with signal 9; starting it again", owner.Error, StringComparison.Ordinal);
        terminal.Forget();
        await terminal.SeesAsync("roles");
        // Not one warning per queue and poll.
        Assert.InRange(
            owner.Error.Split('\n').Count(line => line.Contains(" warning ", StringComparison.Ordinal)), 0, 12);

        // Recovery: work that the emulator may have lost is repeated.
        _mail.Script = null;
        (await RunAsync("requeue", "Big", "--all")).Succeeded();
        await passed.SweepAsync();
        var done = (await drop.EndAsync()).Succeeded();
        Assert.Contains($"{Accounts:N0} accounts", done.Output, StringComparison.Ordinal);
        Assert.Contains("load 1 of Big: ", owner.Error + second.Error, StringComparison.Ordinal);
        await UntilAsync(() => Task.FromResult(_mail.Mails.IsEmpty ? null : ""));
        Assert.Equal("user8@d1.example.org", Assert.Single(_mail.Mails).To);

        // A stopping owner lists the hosts that need its emulator. On a busy machine the other host's heartbeat is late.
        await UntilAsync(async () => (await ListAsync("hosts")).Any(
            host => host.Number("processId") == second.Id && !host.Flag("missed")) ? "" : null);
        var stopped = await owner.TerminateAsync();
        Assert.Contains($"process {second.Id}) waits until it runs again", stopped.Error, StringComparison.Ordinal);
        await second.TerminateAsync();
        terminal.Forget();
        await terminal.SeesAsync("waiting: ");
        await terminal.TypeAsync("\x03");
        Assert.Equal(130, (await terminal.EndAsync()).ExitCode);
    }

    public override async Task DisposeAsync()
    {
        await _mail.DisposeAsync();
        await base.DisposeAsync();
    }

    [GeneratedRegex(
        @"load 1 of Big: [0-9]+ slices? (is|are) leased by a host with missed heartbeats \(.*\); the lease expires at [0-9:]{8}",
        RegexOptions.ExplicitCapture, 60_000)]
    private static partial Regex HeldLine();

    [GeneratedRegex(@"load 1, breach-mail: .*; next try [0-9:]{8}", RegexOptions.ExplicitCapture, 60_000)]
    private static partial Regex MailLine();

    [GeneratedRegex(@"the storage emulator runs \(pid (?<pid>[0-9]+)\)", RegexOptions.ExplicitCapture, 60_000)]
    private static partial Regex EmulatorLine();

    /// <summary>Returns the first of three consecutive free ports.</summary>
    internal static int FreePorts()
    {
        while (true)
        {
            // Below the system's ephemeral ports.
            var port = Random.Shared.Next(11_000, 32_000);
            var listeners = Enumerable.Range(port, 3).Select(one => new TcpListener(IPAddress.Loopback, one)).ToList();
            try
            {
                listeners.ForEach(listener => listener.Start());
                return port;
            }
            catch (SocketException)
            {
                // One of them is in use.
            }
            finally
            {
                listeners.ForEach(listener => listener.Dispose());
            }
        }
    }

    private static async Task KillAsync(int process)
    {
        using var kill = Process.Start("kill", ["-KILL", process.ToString(CultureInfo.InvariantCulture)]);
        await kill.WaitForExitAsync();
    }

    /// <summary>Polls without a limit of its own; the process timeout ends the test.</summary>
    private static async Task<T> UntilAsync<T>(Func<Task<T?>> probe, TimeSpan? every = null)
        where T : class
    {
        using var timeout = new CancellationTokenSource(TimeSpan.FromMinutes(8));
        while (true)
        {
            if (await probe() is { } found)
                return found;
            await Task.Delay(every ?? PollInterval, timeout.Token);
        }
    }

    private string DatabaseFile => Path.Combine(Folder.Path, ".hibp", "hibp.db");

    private string Subscribers() => Folder.Write("subscribers.csv", "email,domain\nuser8@d1.example.org,\n");

    private async Task<string> StatusAsync() => (await RunAsync("status")).Succeeded().Output;

    private async Task<IReadOnlyList<JsonElement>> ListAsync(string what) =>
        (await RunAsync("status", "--json")).Succeeded().Json.List(what);
}
