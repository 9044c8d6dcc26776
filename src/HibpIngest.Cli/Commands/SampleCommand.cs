using HibpIngest.Cli.Samples;

namespace HibpIngest.Cli.Commands;

internal sealed class SampleCommand : HibpCommand
{
    private readonly Argument<FileInfo> _file = new("OUT.zip") { Description = "The zip to write; an existing file is replaced." };
    private readonly Option<long> _accounts =
        new("--accounts") { Description = "Number of distinct accounts.", HelpName = "N", Required = true };
    private readonly Option<int> _seed =
        new("--seed") { Description = "The same seed creates the same file.", HelpName = "S", DefaultValueFactory = _ => 1 };

    private readonly Option<int> _overlap = new("--overlap")
    {
        Description = "Percentage of accounts that are also in another sample (--overlap-seed) of at least this size.",
        HelpName = "PERCENT"
    };
    private readonly Option<int> _overlapSeed = new("--overlap-seed") { Description = "Seed of that other sample.", HelpName = "S" };

    public SampleCommand()
        : base("sample", "Write a synthetic breach for load tests: a realistic mix of domains, duplicates, mixed case and junk.")
    {
        Add(_file, _accounts, _seed, _overlap, _overlapSeed);
        RequireRange(_accounts, 1, SampleOptions.MaxAccounts);
        RequireRange(_overlap, 0, 100);
        Validators.Add(result =>
        {
            if (IsGiven(result, _overlap) != IsGiven(result, _overlapSeed))
                result.AddError("--overlap and --overlap-seed require each other");
        });
        AddExamples(
            ("hibp sample --accounts 250000 --seed 7 First.zip", "a quarter of a million accounts"),
            ("hibp sample --accounts 250000 --seed 8 --overlap 20 --overlap-seed 7 Second.zip", "another, which shares a fifth of its "
                + "accounts with the first"));
    }

    protected override Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var file = session.Parsed.GetRequiredValue(_file);
        var accounts = session.Parsed.GetValue(_accounts);
        var seed = session.Parsed.GetValue(_seed);
        using (var part = new PartFile(file))
        {
            var options = new SampleOptions
            {
                Accounts = accounts,
                Seed = seed,
                OverlapPercent = session.Parsed.GetValue(_overlap),
                OverlapSeed = session.Parsed.GetValue(_overlapSeed),
            };
            SampleBreach.Write(part.Stream, options, cancellationToken);
            part.Complete();
        }
        file.Refresh();
        session.Screen.ShowResult(new SampleDocument(file.FullName, accounts, seed, file.Length),
            $"{file.Name}: {TableFormat.Number(accounts)} accounts, {TableFormat.Bytes(file.Length)}.");
        return Task.CompletedTask;
    }
}
