using HibpIngest.Delivery;
using HibpIngest.Hosting.Messages;
using HibpIngest.Integration.Tests.Cli;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests matching and mails: failing mail servers, holds, limits, and messages that crash their process each time.</summary>
public sealed class NotifyTests
{
    [Theory]
    [InlineData("RCPT", "450 4.2.1 busy", "450 4.2.1")]
    [InlineData("DATA", "451 4.3.0 not now", "451 4.3.0")]
    [InlineData(".", "452 4.2.2 full", "452 4.2.2")]
    public async Task Deferred_recipient_delays_no_other_and_is_rejected_after_three_days(string at, string answer, string codes)
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(time: clock);
        var isRefused = false;
        await using var server = new SmtpTestServer
        {
            Script = step =>
            {
                if (step.Name == "RCPT")
                    isRefused = step.Line.Contains("user33@", StringComparison.Ordinal);
                return isRefused && step.Name == at ? SmtpAnswer.Say(answer) : null;
            },
        };
        await using var sender = NotificationSenders.Create(server.Setting);
        var context = rig.Context with { Sender = sender };
        await rig.ImportAccountsAsync(0, 100);
        await rig.DropAccountsAsync("X.zip", 0, 100);
        await PipelineRig.RunToEndAsync(context);

        AssertMailed(server, 99);
        Assert.Equal((LoadState.Notifying, new NotificationCounts(1, 99, 0)), await FindAsync(rig));
        await rig.AssertQueuesEmptyAsync();

        // Each sweep retries the due mails: 5 minutes later at first, then at growing intervals, for three days.
        for (var hours = 0.0; hours < 71; hours += 1)
        {
            clock.Advance(TimeSpan.FromHours(1));
            await context.SweepToEndAsync();
        }
        Assert.InRange(server.Commands.Count(line => line.Contains("user33@", StringComparison.Ordinal)), 15, 40);
        Assert.Equal((LoadState.Notifying, new NotificationCounts(1, 99, 0)), await FindAsync(rig));
        clock.Advance(TimeSpan.FromHours(6));
        await context.SweepToEndAsync();
        Assert.Equal((LoadState.Done, new NotificationCounts(0, 99, 1)), await FindAsync(rig));
        Assert.Contains(codes, await rig.ErrorOfAsync("user33@example.com"), StringComparison.Ordinal);
        Assert.Equal(99, server.Mails.Count);
        Assert.Empty(server.Offences);
    }

    [Fact]
    public async Task Domain_that_cannot_be_listed_delays_no_other_recipient()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(time: clock);
        await rig.ImportAsync(("boss@example.net", "d1.example.org"), ("user1@d1.example.org", null), ("chief@example.net", "example.com"),
            ("user3@example.com", null));
        await rig.DropAccountsAsync("X.zip", 0, 20);
        var throttled = true;
        var table = PortProxy<IAccountTable>.Create(rig.Context.Table, (method, arguments) =>
            throttled && method == nameof(IAccountTable.ListAliasesAsync) && arguments[0] is "d1.example.org"
                ? throw new UnavailableException("the table throttles") : Task.CompletedTask);
        var context = rig.Context.WithTable(table);
        await PipelineRig.RunToEndAsync(context);

        Assert.Equal(["chief@example.net", "user1@d1.example.org", "user3@example.com"], rig.Recipients());
        throttled = false;
        clock.Advance(TimeSpan.FromMinutes(20));
        await context.SweepToEndAsync();
        Assert.Equal(["boss@example.net", "chief@example.net", "user1@d1.example.org", "user3@example.com"], rig.Recipients());
        Assert.Equal(LoadState.Done, (await FindAsync(rig)).State);
    }

    [Theory]
    [InlineData("MAIL", "451 4.3.0 not now")]
    [InlineData("RCPT", "421 4.7.0 slow down")]
    [InlineData("DATA", null)]
    public async Task Server_fault_defers_the_whole_queue_message(string at, string? answer)
    {
        await using var rig = await PipelineRig.StartAsync();
        await using var server = new SmtpTestServer
        {
            Script = step => step.Name != at ? null : answer is null ? SmtpAnswer.Drop() : SmtpAnswer.Say(answer),
        };
        await using var sender = NotificationSenders.Create(server.Setting);
        await rig.ImportAccountsAsync(0, 10);
        await rig.DropAccountsAsync("X.zip", 0, 10);
        await PipelineRig.RunToEndAsync(rig.Context with { Sender = sender });

        Assert.Single(server.Commands, line => line.StartsWith(at, StringComparison.Ordinal));
        Assert.Equal(new NotificationCounts(10, 0, 0), (await FindAsync(rig)).Notifications);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Mail]);
    }

    [Fact]
    public async Task Hiding_a_breach_stops_its_mails_at_once_and_showing_it_resumes_them()
    {
        await using var rig = await PipelineRig.StartAsync();
        await using var server = new SmtpTestServer();
        var stopped = 0;
        server.Script = step =>
        {
            if (step.Name == "." && server.Mails.Count == 9 && Interlocked.Exchange(ref stopped, 1) == 0)
                rig.Context.Database.SetHiddenAsync("X", hidden: true, None).GetAwaiter().GetResult();
            return null;
        };
        await using var sender = NotificationSenders.Create(server.Setting);
        var context = rig.Context with { Sender = sender };
        await rig.ImportAccountsAsync(0, 30);
        await rig.DropAccountsAsync("X.zip", 0, 30);
        await PipelineRig.RunToEndAsync(context);
        await context.SweepToEndAsync();

        Assert.Equal(10, server.Mails.Count);
        Assert.Equal((LoadState.Notifying, new NotificationCounts(20, 10, 0)), await FindAsync(rig));
        await rig.Context.Database.SetHiddenAsync("X", hidden: false, None);
        await context.SweepToEndAsync();
        Assert.Equal((LoadState.Done, new NotificationCounts(0, 30, 0)), await FindAsync(rig));
        AssertMailed(server, 30);
    }

    [Fact]
    public async Task Mail_rate_limits_all_workers_together()
    {
        const int Each = 25;
        await using var rig = await PipelineRig.StartAsync(options => options.Mail.MailsPerSecond = 20);
        await using var server = new SmtpTestServer();
        var times = new ConcurrentQueue<long>();
        server.Script = step =>
        {
            if (step.Name == ".")
                times.Enqueue(Stopwatch.GetTimestamp());
            return null;
        };
        await using var sender = NotificationSenders.Create(server.Setting);
        var context = rig.Context with { Sender = sender };
        await rig.ImportAccountsAsync(0, Each);
        foreach (var breach in new[] { "One", "Two" })
            await rig.DropAccountsAsync($"{breach}.zip", 0, Each, """{"notify":"hold"}""");
        await PipelineRig.RunToEndAsync(context);
        foreach (var breach in new[] { "One", "Two" })
            await context.Get<MailOperations>().NotifyAsync(breach, None);

        // Two loads' messages at once, as two workers would process them.
        await Task.WhenAll(((long[])[1, 2]).Select(load => Task.Run(() =>
            context.DispatchAsync(new MailMessage { Load = load, First = 1, Last = Each }))));

        Assert.Equal(2 * Each, server.Mails.Count);
        var took = Stopwatch.GetElapsedTime(times.Min(), times.Max());
        // 50 mails at 20 per second: 2.45 s from the first to the last.
        Assert.True(took > TimeSpan.FromSeconds(2.3), $"{2 * Each} mails went out within {took.TotalSeconds:0.00} s");
    }

    [Fact]
    public async Task Mails_are_all_sent_when_their_messages_exceed_one_invocation()
    {
        const int Mails = 200;
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(options => options.Mail.MailsPerMessage = 1, clock);
        await rig.ImportAccountsAsync(0, Mails);
        await rig.DropAccountsAsync("X.zip", 0, Mails);
        // Each invocation is cancelled after 40 messages.
        for (var round = 0; round < 30 && (await rig.LoadsAsync()) is not [{ State: LoadState.Done }]; round++)
        {
            var sent = 0;
            var queues = new ObservedQueues(rig.Context.Queues)
            {
                Before = (queue, operation) =>
                {
                    if ((queue, operation) == (QueueNames.Mail, "send") && Interlocked.Increment(ref sent) > 40)
                        throw new OperationCanceledException();
                },
            };
            var context = rig.Context with { Queues = queues };
            AssertCancelledOrNull(await Record.ExceptionAsync(context.SweepAsync));
            await PumpAsync(context);
            clock.Advance(TimeSpan.FromHours(1));
        }
        Assert.Equal((LoadState.Done, new NotificationCounts(0, Mails, 0)), await FindAsync(rig));

        static async Task PumpAsync(PipelineParts context)
        {
            await context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
            var dispatcher = context.Get<MessageDispatcher>();
            foreach (var name in QueueNames.All)
            {
                var queue = context.Queues.Get(name);
                while (await queue.ReceiveAsync(32, TimeSpan.FromMinutes(10), None) is { Count: > 0 } messages)
                {
                    foreach (var message in messages)
                    {
                        // In the worst case a cancelled message is lost.
                        AssertCancelledOrNull(await Record.ExceptionAsync(() => dispatcher.DispatchAsync(name, message.Body, None)));
                        await queue.DeleteAsync(message, None);
                    }
                }
            }
        }
    }

    [Theory]
    [InlineData(LoadState.Matching, nameof(INotifications.MatchRowsAsync))]
    [InlineData(LoadState.Notifying, nameof(INotificationSender.SendAsync))]
    public async Task Message_that_crashes_its_process_each_time_fails_the_load_with_the_reason(LoadState state, string at)
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(time: clock);
        await rig.ImportAsync(("user3@example.com", null));
        var load = await MatchingAsync(rig);
        PipelineMessage message = new MatchMessage { Load = load };
        if (state == LoadState.Notifying)
        {
            await rig.Context.DispatchAsync(message);
            message = new MailMessage { Load = load, First = 1, Last = 1 };
        }
        for (var tries = 0; tries < 20 && (await rig.LoadAsync(load)).State == state; tries++)
        {
            await DispatchAndDieAsync(rig, message, at);
            clock.Advance(TimeSpan.FromHours(1));
        }
        var failed = await rig.LoadAsync(load);
        Assert.Equal(LoadState.Failed, failed.State);
        Assert.Contains("ended without a result", failed.Error, StringComparison.Ordinal);
        Assert.DoesNotContain('@', failed.Error!);
        await rig.Context.Queues.Get(message.GetQueue()).ClearAsync(None);
        await rig.Context.Get<ResumeLoad>().RunAsync(new(load), restart: false, null, None);
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(load)).State);
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Match_message_is_deferred_while_another_worker_holds_the_lease()
    {
        await using var rig = await PipelineRig.StartAsync();
        var load = await MatchingAsync(rig);
        await rig.Context.Queues.Get(QueueNames.Match).ClearAsync(None);
        Assert.True(
            await rig.Context.Database.TryClaimLoadAsync(new(load), LoadState.Matching, "somebody", TimeSpan.FromSeconds(30), None));
        await rig.Context.DispatchAsync(new MatchMessage { Load = load });

        Assert.Equal(LoadState.Matching, (await rig.LoadAsync(load)).State);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Match]);
        Assert.Empty(await rig.Context.Queues.Get(QueueNames.Match).PeekAsync(1, None)); // hidden until the lease has expired
    }

    [Fact]
    public async Task Ingest_reads_the_load_under_its_lease_match_once_more_at_its_end_and_mail_never()
    {
        await using var rig = await PipelineRig.StartAsync(options => options.Mail.MailsPerMessage = 2);
        await rig.ImportAccountsAsync(0, 6);
        var (watched, calls) = rig.Context.Recorded();
        var version = await rig.DropAccountsAsync("X.zip", 0, 10);
        await watched.DispatchAsync(new IngestMessage { Blob = version.Name, ETag = version.ETag });
        // First, whether there is a load of the file.
        Assert.Equal([nameof(ILoads.FindLoadAsync), nameof(ILoads.GetLoadAsync)], Reads());

        await rig.Context.HandleMessagesAsync(QueueNames.Slices);
        calls.Clear();
        var load = Assert.Single(await rig.LoadsAsync()).Id.Value;
        await watched.DispatchAsync(new MatchMessage { Load = load });
        Assert.Equal([nameof(ILoads.GetLoadAsync), nameof(ILoads.GetLoadAsync)], Reads());

        calls.Clear();
        await watched.DispatchAsync(new MailMessage { Load = load, First = 1, Last = 2 });
        Assert.Equal(2, rig.Mails().Count);
        Assert.DoesNotContain(nameof(ILoads.GetLoadAsync), calls);
        Assert.DoesNotContain(nameof(ILoads.ListLoadsAsync), calls);

        string[] Reads() => [.. calls.Where(
            what => what is nameof(ILoads.FindLoadAsync) or nameof(ILoads.GetLoadAsync) or nameof(ILoads.GetLoadHeadAsync))];
    }

    [Fact]
    public async Task Hold_stops_mails_in_progress_and_holds_a_load_that_is_not_matched_yet()
    {
        await using var rig = await PipelineRig.StartAsync();
        await using var server = new SmtpTestServer();
        var stopped = 0;
        server.Script = step =>
        {
            if (step.Name == "." && server.Mails.Count == 4 && Interlocked.Exchange(ref stopped, 1) == 0)
                Assert.Equal(6, rig.Context.Get<MailOperations>().HoldAsync("x", None).GetAwaiter().GetResult());
            return null;
        };
        await using var sender = NotificationSenders.Create(server.Setting);
        var context = rig.Context with { Sender = sender };
        await rig.ImportAccountsAsync(0, 10);
        await rig.DropAccountsAsync("X.zip", 0, 10);
        await PipelineRig.RunToEndAsync(context);

        // The mail in progress is still sent.
        Assert.Equal(5, server.Mails.Count);
        Assert.Equal((LoadState.Held, new NotificationCounts(5, 5, 0)), await FindAsync(rig));
        Assert.Contains("hibp mail hold", (await rig.LoadAsync(1)).HeldBecause, StringComparison.Ordinal);
        var waiting = 0;
        await foreach (var notification in context.Get<MailOperations>().PreviewAsync("X", None))
            waiting += notification.IsOpen ? 1 : 0;
        Assert.Equal(5, waiting);

        await rig.ImportAsync(("user11@d4.example.org", null));
        await rig.IngestAccountsAsync("X.2.zip", 0, 12, """{"notify":"send"}""");
        Assert.Equal(5, await context.Get<MailOperations>().HoldAsync("X", None));
        await PipelineRig.RunToEndAsync(context);
        Assert.Equal(LoadState.Held, (await rig.LoadAsync(2)).State);
        Assert.Equal(5, server.Mails.Count);

        Assert.Equal(6, await context.Get<MailOperations>().NotifyAsync("X", None));
        await PipelineRig.RunToEndAsync(context);
        AssertMailed(server, 11);
        Assert.All(await rig.LoadsAsync(), load => Assert.Equal((LoadState.Done, (string?)null), (load.State, load.HeldBecause)));
        await Assert.ThrowsAsync<NotPossibleException>(() => context.Get<MailOperations>().HoldAsync("X", None));
        await Assert.ThrowsAsync<NotPossibleException>(() => context.Get<MailOperations>().HoldAsync("Unknown", None));
    }

    [Theory]
    [InlineData("""{"notify":"send"}""")]
    [InlineData("{}")]
    public async Task Operator_setting_hold_overrides_metadata_that_asks_for_send(string metadata)
    {
        await using var rig = await PipelineRig.StartAsync(options => options.Mail.Notify = NotifyMode.Hold);
        await rig.ImportAsync(("user3@example.com", null));
        await rig.LoadAccountsAsync("X.zip", 0, 10, metadata);
        Assert.Equal((LoadState.Held, new NotificationCounts(1, 0, 0)), await FindAsync(rig));
        Assert.Equal(1, await rig.Context.Get<MailOperations>().NotifyAsync("X", None));
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Matching_continued_under_a_time_budget_sends_the_same_mails()
    {
        await using var rig = await PipelineRig.StartAsync(options =>
        {
            (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Mail.MatchRows, options.Ingest.DedupeCap) = (50, 25, 7, 60);
            options.Ingest.TimeBudget = TimeSpan.FromTicks(1); // exceeded by each step
        });
        await rig.ImportAccountsAsync(0, 20);
        await rig.ImportAsync(("boss@example.net", "example.com"), ("chief@example.net", "d1.example.org"));
        var zip = PipelineRig.Zip(("a", PipelineRig.Accounts(0, 100)), ("b", PipelineRig.Accounts(20, 50)));
        await rig.DropAsync("X.zip", zip);
        var matches = 0;
        var queues = new ObservedQueues(rig.Context.Queues) { OnSend = (queue, _, _) => matches += queue == QueueNames.Match ? 1 : 0 };
        await PipelineRig.RunToEndAsync(rig.Context with { Queues = queues });

        var load = await rig.LoadAsync(1);
        Assert.True(load.LastPosition > 100, "duplicates were expected to pass");
        Assert.Equal((LoadState.Done, 100L, new NotificationCounts(0, 22, 0)), (load.State, load.Accounts, load.Notifications));
        Assert.Equal(22, rig.Recipients().Distinct().Count());
        Assert.True(matches > load.LastPosition / 7, $"{matches} messages");
    }

    [Fact]
    public async Task Queued_mail_messages_are_limited_to_five_minutes_of_the_rate()
    {
        const int Mails = 60;
        await using var rig = await PipelineRig.StartAsync(options => (options.Mail.MailsPerMessage, options.Mail.MailsPerSecond)
            = (1, 0.05));
        await rig.ImportAccountsAsync(0, Mails);
        var load = await MatchingAsync(rig, Mails);
        await rig.Context.DispatchAsync(new MatchMessage { Load = load });
        // At least 16; five minutes at this rate are 15.
        Assert.Equal((16, 16), ((await rig.DepthsAsync())[QueueNames.Mail], (await rig.LoadAsync(load)).LastQueuedNotification));
        // A duplicate of the match message sends no more.
        await rig.Context.DispatchAsync(new MatchMessage { Load = load });
        Assert.Equal(16, (await rig.DepthsAsync())[QueueNames.Mail]);
        await rig.Context.DispatchAsync(new MailMessage { Load = load, First = 1, Last = 1 });
        Assert.Equal((17, 17), ((await rig.DepthsAsync())[QueueNames.Mail], (await rig.LoadAsync(load)).LastQueuedNotification));
        // The next mail is due in 20 seconds: its message is deferred, and nothing of it is claimed.
        await rig.Context.DispatchAsync(new MailMessage { Load = load, First = 2, Last = 2 });
        Assert.Equal((18, new NotificationCounts(Mails - 1, 1, 0)), ((await rig.DepthsAsync())[QueueNames.Mail],
            (await rig.LoadAsync(load)).Notifications));
    }

    [Theory]
    [InlineData(0, 5, 5)]
    [InlineData(1, 7.5, 10)]
    [InlineData(3, 30, 40)]
    [InlineData(6, 180, 240)]
    [InlineData(1_000_000, 180, 240)]
    public void A_deferral_grows_from_5_minutes_to_4_hours(int deferrals, double least, double most)
    {
        for (var i = 0; i < 100; i++)
            Assert.InRange(NotificationMails.Deferral(deferrals), TimeSpan.FromMinutes(least), TimeSpan.FromMinutes(most));
    }

    private static async Task<(LoadState State, NotificationCounts Notifications)> FindAsync(PipelineRig rig)
    {
        var load = await rig.LoadAsync(1);
        return (load.State, load.Notifications);
    }

    /// <summary>Makes a load in state matching.</summary>
    private static async Task<long> MatchingAsync(PipelineRig rig, int accounts = 10)
    {
        await rig.IngestAccountsAsync("X.zip", 0, accounts);
        await rig.Context.HandleMessagesAsync(QueueNames.Slices);
        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal(LoadState.Matching, load.State);
        return load.Id.Value;
    }

    /// <summary>Crashes the process at this call; later calls fail.</summary>
    private static async Task DispatchAndDieAsync(PipelineRig rig, PipelineMessage message, string at)
    {
        var dead = false;
        var context = rig.OpenContext();
        context = context with
        {
            Database = Dying(context.Database),
            Queues = Dying(context.Queues),
            Sender = Dying(context.Sender),
        };
        Assert.True(await Record.ExceptionAsync(() => context.DispatchAsync(message)) is null or CrashException);

        T Dying<T>(T port)
            where T : class
            => PortProxy<T>.Create(port, (method, _) => DieAsync(method));

        Task DieAsync(string method)
        {
            dead |= method == at;
            return dead ? throw new CrashException() : Task.CompletedTask;
        }
    }

    private static void AssertCancelledOrNull(Exception? exception) =>
        Assert.True(exception is null or OperationCanceledException, $"{exception}");

    /// <summary>Asserts that this many mails were sent, each to another recipient.</summary>
    private static void AssertMailed(SmtpTestServer server, int mails)
    {
        Assert.Equal(mails, server.Mails.Count);
        Assert.Equal(mails, server.Mails.Select(mail => mail.To).Distinct().Count());
    }
}
