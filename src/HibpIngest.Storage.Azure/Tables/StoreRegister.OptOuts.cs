namespace HibpIngest.Storage.Azure.Tables;

internal sealed partial class StoreRegister
{
    private const string OptOutPartition = "optout";
    private const string Alias = "Alias";
    private const string Domain = "Domain";
    private const string Level = "Level";

    public Task PutOptOutAsync(OptOut optOut, CancellationToken cancellationToken) => table.PutAsync(
        new TableEntity(OptOutPartition, OptOutRow(optOut.Account))
        {
            [Alias] = optOut.Account.Alias,
            [Domain] = optOut.Account.Domain,
            [Level] = OptOut.ValueOf(optOut.Level),
            [SetAt] = TableText.Of(time.GetUtcNow()),
        },
        "recording of an opt-out", cancellationToken);

    public async Task<OptOutLevel> GetOptOutAsync(Account account, CancellationToken cancellationToken) =>
        await table.FindAsync(OptOutPartition, OptOutRow(account), "look-up of an opt-out", cancellationToken) is { } entity
            ? LevelOf(entity) : OptOutLevel.None;

    public async IAsyncEnumerable<OptOut> ListOptOutsAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await foreach (var entity in QueryAsync(OptOutPartition, "listing of opt-outs", cancellationToken))
        {
            if (LevelOf(entity) is not OptOutLevel.None and var level)
                yield return new OptOut(new Account(TextOf(entity, Alias), TextOf(entity, Domain)), level);
        }
    }

    // An address may have characters and a length that a key may not.
    private static string OptOutRow(Account account)
    {
        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
        AccountHash.Compute(Encoding.ASCII.GetBytes(account.Alias), Encoding.ASCII.GetBytes(account.Domain), hash);
        return Convert.ToHexString(hash);
    }

    // A level that only a newer program knows hides from all.
    private static OptOutLevel LevelOf(TableEntity entity) => TextOf(entity, Level) is not { Length: > 0 } text ? OptOutLevel.None
        : Enum.TryParse<OptOutLevel>(text, ignoreCase: true, out var level) ? level : OptOutLevel.All;
}
