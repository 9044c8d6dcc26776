using System.CommandLine;
using HibpIngest.Breaches;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using Spectre.Console;
using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Commands;

internal sealed class StatusCommand : HibpCommand
{
    // Fast enough to watch, and slow enough for a database that others work on.
    private static readonly TimeSpan WatchEvery = TimeSpan.FromSeconds(1);

    /// <summary>
    /// What a shell expects of a program whose reader went away (128 and the number of SIGPIPE), as 130 of one
    /// that was interrupted.
    /// </summary>
    private const int ReaderIsGone = 141;

    private readonly Argument<string?> _breach =
        new("BREACH") { Description = "Only the loads of this breach.", Arity = ArgumentArity.ZeroOrOne };
    private readonly Option<bool> _watch = new("--watch") { Description = "Keep showing it until Ctrl+C." };

    public StatusCommand()
        : base("status", "Show the loads, how far and how fast they are, the queues, and what failed.")
    {
        Add(_breach);
        Add(_watch);
        Validators.Add(result =>
        {
            if (IsGiven(result, _watch) && IsGiven(result, CommonOptions.Json))
                result.AddError("--json writes one document: --watch can't be given with it");
        });
        Examples =
        [
            ("hibp status", "all loads and queues"),
            ("hibp status Adobe --watch", "one breach, as it goes"),
            ("hibp status --json", "for a program: {\"loads\": [...], \"queues\": [...]}"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var pipeline = await session.OpenExistingAsync(cancellationToken);
        var context = pipeline.Context;
        var name = session.Parsed.GetValue(_breach);
        var breach = name is null ? null : await GetBreachAsync(context.Database, name, cancellationToken);
        if (session.Parsed.GetValue(_watch))
            return await WatchAsync(session, LookAsync, cancellationToken);
        var (loads, queues) = await ReadAsync(context.Database, context.Queues, breach?.Name, cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(new StatusDocument([.. loads.Select(Documents.Of)], queues), Documents.Default.StatusDocument);
        else
            session.Screen.Show(View(loads, queues));
        return 0;

        IRenderable View(IReadOnlyList<Load> loads, IReadOnlyList<QueueDocument> queues) =>
            StatusView.Create(loads, queues, session.Time.GetUtcNow(), context.Options.MailsPerSecond, context.Options.Log == LogMode.On);

        async Task<IRenderable> LookAsync(int? most)
        {
            var (loads, queues) = await ReadAsync(context.Database, context.Queues, breach?.Name, cancellationToken);
            return View(most is null ? loads : [.. loads.Skip(loads.Count - most.Value)], queues);
        }
    }

    /// <summary>Until it is stopped or, where it writes into a pipe, nobody reads it any more.</summary>
    private static async Task<int> WatchAsync(
        CommandSession session, Func<int?, Task<IRenderable>> look, CancellationToken cancellationToken)
    {
        var results = session.Screen.Results;
        if (!results.Profile.Out.IsTerminal)
        {
            while (true)
            {
                session.Screen.Show(await look(null));
                if (OutputPipe.IsAbandoned)
                    return ReaderIsGone;
                await Task.Delay(WatchEvery, session.Time, cancellationToken);
            }
        }
        await results.Live(await look(Most(results))).Overflow(VerticalOverflow.Ellipsis).StartAsync(async live =>
        {
            while (true)
            {
                await Task.Delay(WatchEvery, session.Time, cancellationToken);
                live.UpdateTarget(await look(Most(results)));
            }
        });
        return 0;
    }

    // The newest loads; the rest of the lines are headings and queues.
    private static int Most(IAnsiConsole console) => Math.Max(console.Profile.Height - 16, 3);

    private static async Task<(IReadOnlyList<Load> Loads, IReadOnlyList<QueueDocument> Queues)> ReadAsync(
        ILoads database, IMessageQueues messages, string? breach, CancellationToken cancellationToken)
    {
        var loads = await database.ListLoadsAsync(breach, cancellationToken);
        var queues = await Task.WhenAll(QueueNames.All.Select(async queue => new QueueDocument(
            queue, await CountAsync(messages.Get(queue)), await CountAsync(messages.Get(queue + QueueNames.PoisonSuffix)))));
        return (loads, queues);

        async Task<int> CountAsync(IMessageQueue queue)
        {
            try
            {
                return (await queue.GetDepthAsync(cancellationToken)).Messages;
            }
            catch (StoreMissingException)
            {
                return 0; // the next host makes it
            }
        }
    }
}
