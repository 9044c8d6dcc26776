using System.Security.Cryptography;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed partial class StoreRegister
{
    private const string OptOutPartition = "optout";
    private const string Alias = "Alias";
    private const string Domain = "Domain";
    private const string Level = "Level";

    public Task PutOptOutAsync(OptOut optOut, CancellationToken cancellationToken) => table.PutAsync(
        new TableEntity(OptOutPartition, OptOutRow(optOut.Alias, optOut.Domain))
        {
            [Alias] = optOut.Alias,
            [Domain] = optOut.Domain,
            [Level] = OptOut.ValueOf(optOut.Level),
            [SetAt] = TableText.Of(time.GetUtcNow()),
        },
        "recording of an opt-out", cancellationToken);

    public async Task<OptOutLevel> GetOptOutAsync(string alias, string domain, CancellationToken cancellationToken) =>
        await table.FindAsync(OptOutPartition, OptOutRow(alias, domain), "look-up of an opt-out", cancellationToken) is { } entity
            ? LevelOf(entity) : OptOutLevel.None;

    public async IAsyncEnumerable<OptOut> ListOptOutsAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await foreach (var entity in QueryAsync(OptOutPartition, "listing of opt-outs", cancellationToken))
        {
            if (LevelOf(entity) is not OptOutLevel.None and var level)
                yield return new OptOut(TextOf(entity, Alias), TextOf(entity, Domain), level);
        }
    }

    // An address may have characters and a length that a key may not.
    private static string OptOutRow(string alias, string domain)
    {
        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
        AccountHash.Compute(Encoding.ASCII.GetBytes(alias), Encoding.ASCII.GetBytes(domain), hash);
        return Convert.ToHexString(hash);
    }

    // A level that only a newer program knows hides from all.
    private static OptOutLevel LevelOf(TableEntity entity) => TextOf(entity, Level) is not { Length: > 0 } text ? OptOutLevel.None
        : Enum.TryParse<OptOutLevel>(text, ignoreCase: true, out var level) ? level : OptOutLevel.All;
}
