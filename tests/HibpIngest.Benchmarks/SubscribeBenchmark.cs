using HibpIngest.People;
using HibpIngest.Pipeline.People;
using Microsoft.Data.Sqlite;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Floods the pipeline with requests to subscribe, past the web's own limits: from one network, and from many at a few recipients, all
/// within an hour. Counts the mails that are sent and the rows that are stored, and compares the rate of handling commands
/// with that of only opening (decrypting) them.
/// </summary>
internal static class SubscribeBenchmark
{
    private const int Recipients = 50;
    private const int PerNetwork = 20;
    private const int SampleSize = 2_000;

    // Least rate of handling, as a share of the rate of opening: a refused command also takes a transaction, which writes nothing.
    private const double MinShare = 0.5;

    /// <summary>Prints the figures; returns whether limits of mails held, no refused request left a row, and it was fast enough.</summary>
    /// <param name="commands">Requests from one network, each for another address.</param>
    /// <param name="networks">Networks that send one request each, for one of 50 addresses.</param>
    /// <param name="folder">The database's folder.</param>
    public static async Task<bool> RunAsync(int commands, int networks, string folder)
    {
        var clock = TestClock.Standing();
        var file = Path.Combine(folder, "subscribe.db");
        await using var database = SqliteBreachDatabase.Open(file, clock);
        await database.UpgradeAsync(CancellationToken.None);
        using var account = StorageAccount.Open("UseDevelopmentStorage=true", NullLoggerFactory.Instance);
        await using var sender = new CountingSender();
        var key = Convert.ToBase64String(new byte[32]);
        var commandKey = CommandKey.Parse(Convert.ToBase64String([.. Enumerable.Repeat((byte)1, 32)]))!;
        var options = new TestOptions { Site = { WebUrl = "https://example.com" } };
        var parts = PipelineParts.Of(account, database, sender, options, NullLoggerFactory.Instance) with
        {
            Links = LinkTokens.Parse(key),
            Commands = commandKey,
            SuppressionKey = SuppressionKey.Parse(key),
            Time = clock,
        };
        // Opt-outs are not looked up in the table: the emulator would take most of the time.
        await using var services = parts.AddTo(new ServiceCollection()).AddSingleton<IOptOuts>(new NoOptOuts()).BuildServiceProvider();
        var handler = services.GetRequiredService<HandleCommand>();
        var sealer = CommandSealer.Parse(commandKey.PublicKey);

        List<CommandMessage> one =
            [.. Enumerable.Range(0, commands).Select(i => Message($"user{i}@domain{i % 1_000}.com", "C00002"))];
        var opening = Stopwatch.StartNew();
        var sample = one.Take(SampleSize).ToList();
        foreach (var message in sample)
            _ = message.Open(commandKey);
        opening.Stop();
        var seconds = await HandleAsync(one);
        var share = opening.Elapsed.TotalSeconds / sample.Count / (seconds / commands);
        var ofOne = sender.Mails;
        Print($"{commands:N0} requests of one network: {ofOne} mails ({PerNetwork} allowed)");
        Print($"  {commands / seconds:N0} a second, {share:0.00} of opening them only ({MinShare:0.00})");

        await HandleAsync([.. Enumerable.Range(0, networks).Select(i => Message($"victim{i % Recipients}@example.com", $"network {i}"))]);
        var ofMany = sender.Mails - ofOne;
        Print($"{networks:N0} requests of as many networks at {Recipients} addresses: {ofMany} mails ({Recipients} allowed)");
        var rows = await CountAsync(file, "commands") + await CountAsync(file, "subscription_requests");
        Print($"rows left by refused requests: {rows - 2 * (ofOne + ofMany)}");
        return ofOne <= PerNetwork && ofMany <= Recipients && rows == 2 * (ofOne + ofMany) && share >= MinShare;

        CommandMessage Message(string email, string network) => CommandMessage.Of(
            new PersonCommand(CommandKind.Subscribe) { Id = Guid.NewGuid(), At = clock.GetUtcNow(), Email = email, Network = network },
            sealer);

        async Task<double> HandleAsync(IReadOnlyList<CommandMessage> messages)
        {
            var watch = Stopwatch.StartNew();
            foreach (var message in messages)
                await handler.RunAsync(message, CancellationToken.None);
            return watch.Elapsed.TotalSeconds;
        }
    }

    private static async Task<long> CountAsync(string file, string table)
    {
        await using var connection = new SqliteConnection($"Data Source={file};Pooling=False;Mode=ReadOnly");
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = $"SELECT COUNT(*) FROM {table}";
        return (long)(await command.ExecuteScalarAsync())!;
    }

    private static void Print(FormattableString line) => Console.WriteLine(line.ToString(CultureInfo.InvariantCulture));

    private sealed class NoOptOuts : IOptOuts
    {
        public Task PutOptOutAsync(OptOut optOut, CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<OptOutLevel> GetOptOutAsync(Account account, CancellationToken cancellationToken) =>
            Task.FromResult(OptOutLevel.None);

        public IAsyncEnumerable<OptOut> ListOptOutsAsync(CancellationToken cancellationToken) => throw new NotSupportedException();
    }

    private sealed class CountingSender : INotificationSender
    {
        public int Mails { get; private set; }

        public string DisplayName => "nowhere";

        public Task CheckAsync(string from, CancellationToken cancellationToken) => Task.CompletedTask;

        public Task SendAsync(OutgoingMail mail, CancellationToken cancellationToken)
        {
            Mails++;
            return Task.CompletedTask;
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
