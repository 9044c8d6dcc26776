using System.Collections.Concurrent;
using System.Diagnostics;
using System.Reflection;
using HibpIngest.Delivery;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Sweeping;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Tests matching and mails: a slow mail server delays no other recipient, holds take effect, and a message that
/// crashes its process each time is given up.
/// </summary>
public sealed class NotifyTests
{
    private static readonly CancellationToken None = CancellationToken.None;

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
        await rig.ImportAsync([.. PipelineRig.Expected(0, 100).Select(account => (account, (string?)null))]);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 100))));
        await PipelineRig.RunToEndAsync(context);

        Assert.Equal(99, server.Mails.Select(mail => mail.To).Distinct().Count());
        Assert.Equal(99, server.Mails.Count);
        Assert.Equal((LoadState.Notifying, new NotificationCounts(1, 99, 0)), await FindAsync(rig));
        Assert.All((await rig.DepthsAsync()).Values, depth => Assert.Equal(0, depth));

        // Each sweep retries the due mails: 5 minutes later at first, then at growing intervals, for three days.
        for (var hours = 0.0; hours < 71; hours += 1)
        {
            clock.Advance(TimeSpan.FromHours(1));
            await context.Get<Sweep>().RunAsync(None);
            await PipelineRig.RunToEndAsync(context);
        }
        Assert.InRange(server.Commands.Count(line => line.Contains("user33@", StringComparison.Ordinal)), 15, 40);
        Assert.Equal((LoadState.Notifying, new NotificationCounts(1, 99, 0)), await FindAsync(rig));
        clock.Advance(TimeSpan.FromHours(6));
        await context.Get<Sweep>().RunAsync(None);
        await PipelineRig.RunToEndAsync(context);
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
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 20))));
        var throttled = true;
        var table = Intercepted.Around(rig.Context.Table, (method, arguments) =>
        {
            if (throttled && method == nameof(IAccountTable.ListAliasesAsync) && (string)arguments![0]! == "d1.example.org")
                throw new UnavailableException("the table throttles");
        });
        var context = rig.Context.WithTable(table);
        await PipelineRig.RunToEndAsync(context);

        Assert.Equal(["chief@example.net", "user1@d1.example.org", "user3@example.com"], rig.Recipients());
        throttled = false;
        clock.Advance(TimeSpan.FromMinutes(20));
        await context.Get<Sweep>().RunAsync(None);
        await PipelineRig.RunToEndAsync(context);
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
        await rig.ImportAsync([.. PipelineRig.Expected(0, 10).Select(account => (account, (string?)null))]);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))));
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
        await rig.ImportAsync([.. PipelineRig.Expected(0, 30).Select(account => (account, (string?)null))]);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 30))));
        await PipelineRig.RunToEndAsync(context);
        await context.Get<Sweep>().RunAsync(None);
        await PipelineRig.RunToEndAsync(context);

        Assert.Equal(10, server.Mails.Count);
        Assert.Equal((LoadState.Notifying, new NotificationCounts(20, 10, 0)), await FindAsync(rig));
        await rig.Context.Database.SetHiddenAsync("X", hidden: false, None);
        await context.Get<Sweep>().RunAsync(None);
        await PipelineRig.RunToEndAsync(context);
        Assert.Equal((LoadState.Done, new NotificationCounts(0, 30, 0)), await FindAsync(rig));
        Assert.Equal(30, server.Mails.Select(mail => mail.To).Distinct().Count());
        Assert.Equal(30, server.Mails.Count);
    }

    [Fact]
    public async Task Mail_rate_limits_all_workers_together()
    {
        const int Each = 25;
        await using var rig = await PipelineRig.StartAsync(options => options.Mail.MailsPerSecond = 20);
        await using var server = new SmtpTestServer();
        var times = new System.Collections.Concurrent.ConcurrentQueue<long>();
        server.Script = step =>
        {
            if (step.Name == ".")
                times.Enqueue(Stopwatch.GetTimestamp());
            return null;
        };
        await using var sender = NotificationSenders.Create(server.Setting);
        var context = rig.Context with { Sender = sender };
        await rig.ImportAsync([.. PipelineRig.Expected(0, Each).Select(account => (account, (string?)null))]);
        foreach (var breach in new[] { "One", "Two" })
            await rig.DropAsync($"{breach}.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, Each))), """{"notify":"hold"}""");
        await PipelineRig.RunToEndAsync(context);
        foreach (var breach in new[] { "One", "Two" })
            await context.Get<MailOperations>().NotifyAsync(breach, None);

        // Two loads' messages at once, as two workers would process them.
        var dispatcher = context.Get<MessageDispatcher>();
        await Task.WhenAll(((long[])[1, 2]).Select(load => Task.Run(() =>
            dispatcher.DispatchAsync(QueueNames.Mail, new MailMessage { Load = load, First = 1, Last = Each }.ToJson(), None))));

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
        await rig.ImportAsync([.. PipelineRig.Expected(0, Mails).Select(account => (account, (string?)null))]);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, Mails))));
        // Each invocation is cancelled after 40 messages.
        for (var round = 0; round < 30 && (await rig.LoadsAsync()) is not [{ State: LoadState.Done }]; round++)
        {
            var sent = 0;
            var queues = new LimitedQueues(rig.Context.Queues, () => Interlocked.Increment(ref sent) <= 40);
            var context = rig.Context with { Queues = queues };
            try
            {
                await context.Get<Sweep>().RunAsync(None);
            }
            catch (OperationCanceledException)
            {
                // Cancelled.
            }
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
                        try
                        {
                            await dispatcher.DispatchAsync(name, message.Body, None);
                        }
                        catch (OperationCanceledException)
                        {
                            // Cancelled; in the worst case the message is lost with it.
                        }
                        await queue.DeleteAsync(message, None);
                    }
                }
            }
        }
    }

    [Fact]
    public async Task Match_that_crashes_its_process_each_time_fails_the_load_with_the_reason()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(time: clock);
        await rig.ImportAsync(("user3@example.com", null));
        var load = await MatchingAsync(rig);
        for (var tries = 0; tries < 20 && (await rig.LoadAsync(load)).State == LoadState.Matching; tries++)
        {
            await DispatchAndDieAsync(rig, QueueNames.Match, new MatchMessage { Load = load }, nameof(INotifications.MatchRowsAsync));
            clock.Advance(TimeSpan.FromHours(1));
        }
        var failed = await rig.LoadAsync(load);
        Assert.Equal(LoadState.Failed, failed.State);
        Assert.Contains("ended without a result", failed.Error, StringComparison.Ordinal);
        await rig.Context.Queues.Get(QueueNames.Match).ClearAsync(None);
        await rig.Context.Get<ResumeLoad>().RunAsync(new(load), restart: false, null, None);
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(load)).State);
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Mail_that_crashes_its_process_each_time_fails_the_load_with_the_reason()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(time: clock);
        await rig.ImportAsync(("user3@example.com", null));
        var load = await MatchingAsync(rig);
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Match, new MatchMessage { Load = load }.ToJson(), None);
        await rig.Context.Queues.Get(QueueNames.Mail).ClearAsync(None);
        for (var tries = 0; tries < 20 && (await rig.LoadAsync(load)).State == LoadState.Notifying; tries++)
        {
            await DispatchAndDieAsync(rig, QueueNames.Mail, new MailMessage { Load = load, First = 1, Last = 1 },
                nameof(INotificationSender.SendAsync));
            clock.Advance(TimeSpan.FromHours(1));
        }
        var failed = await rig.LoadAsync(load);
        Assert.Equal(LoadState.Failed, failed.State);
        Assert.Contains("ended without a result", failed.Error, StringComparison.Ordinal);
        Assert.DoesNotContain('@', failed.Error!);
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
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Match, new MatchMessage { Load = load }.ToJson(), None);

        Assert.Equal(LoadState.Matching, (await rig.LoadAsync(load)).State);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Match]);
        Assert.Empty(await rig.Context.Queues.Get(QueueNames.Match).PeekAsync(1, None)); // hidden until the lease has expired
    }

    [Fact]
    public async Task Mail_message_is_processed_without_reading_the_load()
    {
        await using var rig = await PipelineRig.StartAsync(options => options.Mail.MailsPerMessage = 2);
        await rig.ImportAsync([.. PipelineRig.Expected(0, 6).Select(account => (account, (string?)null))]);
        var load = await MatchingAsync(rig);
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Match, new MatchMessage { Load = load }.ToJson(), None);
        var calls = new List<string>();
        var database = Intercepted.Around(rig.Context.Database, (method, _) => calls.Add(method));
        var message = new MailMessage { Load = load, First = 1, Last = 2 };
        await (rig.Context with { Database = database }).Get<MessageDispatcher>().DispatchAsync(QueueNames.Mail, message.ToJson(), None);

        Assert.Equal(2, rig.Mails().Count);
        Assert.DoesNotContain(nameof(ILoads.GetLoadAsync), calls);
        Assert.DoesNotContain(nameof(ILoads.ListLoadsAsync), calls);
    }

    [Fact]
    public async Task Ingest_reads_the_load_under_its_lease_and_match_once_more_at_its_end()
    {
        await using var rig = await PipelineRig.StartAsync();
        var calls = new ConcurrentQueue<string>();
        var watched = new HookedPorts((_, what) =>
        {
            calls.Enqueue(what);
            return Task.CompletedTask;
        }).Wrap(rig.Context);
        var version = await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))));
        var dispatcher = watched.Get<MessageDispatcher>();
        await dispatcher.DispatchAsync(
            QueueNames.Ingest, new IngestMessage { Blob = version.Name, ETag = version.ETag }.ToJson(), None);
        // First, whether there is a load of the file.
        Assert.Equal([nameof(ILoads.FindLoadAsync), nameof(ILoads.GetLoadAsync)], Reads());

        var slices = rig.Context.Queues.Get(QueueNames.Slices);
        foreach (var slice in await slices.ReceiveAsync(32, TimeSpan.FromMinutes(10), None))
            await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Slices, slice.Body, None);
        calls.Clear();
        var load = Assert.Single(await rig.LoadsAsync()).Id.Value;
        await dispatcher.DispatchAsync(QueueNames.Match, new MatchMessage { Load = load }.ToJson(), None);
        Assert.Equal([nameof(ILoads.GetLoadAsync), nameof(ILoads.GetLoadAsync)], Reads());

        string[] Reads() => [.. calls.Where(
            what => what is nameof(ILoads.FindLoadAsync) or nameof(ILoads.GetLoadAsync) or nameof(ILoads.GetLoadHeadAsync))];
    }

    [Fact]
    public async Task Held_mails_stay_held_when_a_later_load_takes_them_over()
    {
        await using var rig = await PipelineRig.StartAsync();
        await rig.ImportAsync(("user3@example.com", null), ("user5@d5.example.org", null));
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 5))), """{"notify":"hold"}""");
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Held, (await rig.LoadAsync(1)).State);
        await rig.Context.Database.FailLoadAsync(new(1), owner: null, "a fault", superseded: false, None);
        await rig.DropAsync("X.2.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))), """{"notify":"send"}""");
        await rig.RunToEndAsync();

        Assert.Empty(rig.Mails());
        var second = await rig.LoadAsync(2);
        Assert.Equal((LoadState.Held, new NotificationCounts(2, 0, 0)), (second.State, second.Notifications));
        Assert.Contains("load 1", second.HeldBecause, StringComparison.Ordinal);
        Assert.Equal(2, await rig.Context.Get<MailOperations>().NotifyAsync("X", None));
        await rig.RunToEndAsync();
        Assert.Equal(["user3@example.com", "user5@d5.example.org"], rig.Recipients());
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
        await rig.ImportAsync([.. PipelineRig.Expected(0, 10).Select(account => (account, (string?)null))]);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))));
        await PipelineRig.RunToEndAsync(context);

        // The mail in progress is still sent.
        Assert.Equal(5, server.Mails.Count);
        Assert.Equal((LoadState.Held, new NotificationCounts(5, 5, 0)), await FindAsync(rig));
        Assert.Contains("hibp mail hold", (await rig.LoadAsync(1)).HeldBecause, StringComparison.Ordinal);
        var waiting = 0;
        await foreach (var notification in context.Get<MailOperations>().PreviewAsync("X", None))
            waiting += notification.IsOpen ? 1 : 0;
        Assert.Equal(5, waiting);

        await rig.ImportAsync(("user11@d11.example.org", null));
        await rig.DropAsync("X.2.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 12))), """{"notify":"send"}""");
        await context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
        var ingest = Assert.Single(await context.Queues.Get(QueueNames.Ingest).ReceiveAsync(1, TimeSpan.FromMinutes(10), None));
        await context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Ingest, ingest.Body, None);
        await context.Queues.Get(QueueNames.Ingest).DeleteAsync(ingest, None);
        Assert.Equal(5, await context.Get<MailOperations>().HoldAsync("X", None));
        await PipelineRig.RunToEndAsync(context);
        Assert.Equal(LoadState.Held, (await rig.LoadAsync(2)).State);
        Assert.Equal(5, server.Mails.Count);

        Assert.Equal(6, await context.Get<MailOperations>().NotifyAsync("X", None));
        await PipelineRig.RunToEndAsync(context);
        Assert.Equal(11, server.Mails.Select(mail => mail.To).Distinct().Count());
        Assert.Equal(11, server.Mails.Count);
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
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))), metadata);
        await rig.RunToEndAsync();
        Assert.Equal((LoadState.Held, new NotificationCounts(1, 0, 0)), await FindAsync(rig));
        Assert.Equal(1, await rig.Context.Get<MailOperations>().NotifyAsync("X", None));
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Matching_continued_under_a_time_budget_sends_the_same_mails()
    {
        static void Small(TestOptions options) => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Mail.MatchRows,
            options.Ingest.DedupeCap) = (50, 25, 7, 60);
        await using var rig = await PipelineRig.StartAsync(options =>
        {
            Small(options);
            options.Ingest.TimeBudget = TimeSpan.FromTicks(1); // exceeded by each step
        });
        await rig.ImportAsync([.. PipelineRig.Expected(0, 20).Select(account => (account, (string?)null)), ("boss@example.net",
            "example.com"), ("chief@example.net", "d1.example.org")]);
        var zip = PipelineRig.Zip(("a", PipelineRig.Accounts(0, 100)), ("b", PipelineRig.Accounts(20, 50)));
        await rig.DropAsync("X.zip", zip);
        var matches = 0;
        var queues = Intercepted.Around(rig.Context.Queues, (_, arguments) => matches += (string)arguments![0]! == QueueNames.Match
            ? 1 : 0);
        await PipelineRig.RunToEndAsync(rig.Context with { Queues = queues });

        var load = await rig.LoadAsync(1);
        Assert.True(load.LastPosition > 100, "duplicates were expected to pass");
        Assert.Equal((LoadState.Done, 100L, new NotificationCounts(0, 22, 0)), (load.State, load.Accounts, load.Notifications));
        Assert.Equal(22, rig.Recipients().Distinct().Count());
        Assert.True(matches > load.LastPosition / 7, $"{matches} looks at the match queue");
    }

    [Fact]
    public async Task Queued_mail_messages_are_limited_to_five_minutes_of_the_rate()
    {
        const int Mails = 60;
        await using var rig = await PipelineRig.StartAsync(options => (options.Mail.MailsPerMessage, options.Mail.MailsPerSecond)
            = (1, 0.05));
        await rig.ImportAsync([.. PipelineRig.Expected(0, Mails).Select(account => (account, (string?)null))]);
        var load = await MatchingAsync(rig, Mails);
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Match, new MatchMessage { Load = load }.ToJson(), None);
        // At least 16; five minutes at this rate are 15.
        Assert.Equal((16, 16), ((await rig.DepthsAsync())[QueueNames.Mail], (await rig.LoadAsync(load)).LastQueuedNotification));
        // A duplicate of the match message sends no more.
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Match, new MatchMessage { Load = load }.ToJson(), None);
        Assert.Equal(16, (await rig.DepthsAsync())[QueueNames.Mail]);
        var message = new MailMessage { Load = load, First = 1, Last = 1 };
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Mail, message.ToJson(), None);
        Assert.Equal((17, 17), ((await rig.DepthsAsync())[QueueNames.Mail], (await rig.LoadAsync(load)).LastQueuedNotification));
        // The next mail is due in 20 seconds: its message is deferred, and nothing of it is claimed.
        message = new MailMessage { Load = load, First = 2, Last = 2 };
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Mail, message.ToJson(), None);
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
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, accounts))));
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
        var dispatcher = rig.Context.Get<MessageDispatcher>();
        foreach (var name in new[] { QueueNames.Ingest, QueueNames.Slices })
        {
            var queue = rig.Context.Queues.Get(name);
            foreach (var message in await queue.ReceiveAsync(32, TimeSpan.FromMinutes(10), None))
            {
                await dispatcher.DispatchAsync(name, message.Body, None);
                await queue.DeleteAsync(message, None);
            }
        }
        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal(LoadState.Matching, load.State);
        return load.Id.Value;
    }

    /// <summary>Crashes the process at this call; later calls fail.</summary>
    private static async Task DispatchAndDieAsync(PipelineRig rig, string queue, PipelineMessage message, string at)
    {
        var dead = false;
        void Die(string method, object?[]? arguments)
        {
            dead |= method == at;
            if (dead)
                throw new CrashException();
        }
        var context = rig.OpenContext();
        context = context with
        {
            Database = Intercepted.Around(context.Database, Die),
            Queues = Intercepted.Around(context.Queues, Die),
            Sender = Intercepted.Around(context.Sender, Die),
        };
        try
        {
            await context.Get<MessageDispatcher>().DispatchAsync(queue, message.ToJson(), None);
        }
        catch (CrashException)
        {
            // Crashed.
        }
    }

    /// <summary>Queues of an invocation that is cancelled after sending this many messages.</summary>
    private sealed class LimitedQueues(IMessageQueues queues, Func<bool> maySend) : IMessageQueues
    {
        public IMessageQueue Get(string name) => Intercepted.Around(queues.Get(name), (method, _) =>
        {
            if (name == QueueNames.Mail && method == nameof(IMessageQueue.SendAsync) && !maySend())
                throw new OperationCanceledException();
        });
    }
}

/// <summary>A port with a hook before each call.</summary>
public class Intercepted : DispatchProxy
{
    private object _port = null!;
    private Action<string, object?[]?> _before = null!;

    /// <summary>Wraps a port: <paramref name="before"/> is called first, with the method's name and arguments.</summary>
    public static T Around<T>(T port, Action<string, object?[]?> before)
        where T : class
    {
        var proxy = Create<T, Intercepted>();
        (((Intercepted)(object)proxy)._port, ((Intercepted)(object)proxy)._before) = (port, before);
        return proxy;
    }

    protected override object? Invoke(MethodInfo? targetMethod, object?[]? args)
    {
        lock (_before)
            _before(targetMethod!.Name, args);
        try
        {
            return targetMethod.Invoke(_port, args);
        }
        catch (TargetInvocationException e)
        {
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw(e.InnerException!);
            throw;
        }
    }
}
