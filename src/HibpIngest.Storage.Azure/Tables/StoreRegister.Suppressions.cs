namespace HibpIngest.Storage.Azure.Tables;

internal sealed partial class StoreRegister
{
    private const string SuppressionPartition = "suppression";
    private const string CheckRow = "check";
    private const string Check = "Check";
    private const string Reason = "Reason";
    private const string Lifted = "lifted";
    private const string Forgotten = "forgotten";

    public async Task<string?> GetSuppressionKeyCheckAsync(CancellationToken cancellationToken) =>
        await table.FindAsync(SuppressionPartition, CheckRow, "reading of the suppression key's check", cancellationToken) is { } entity
            ? TextOf(entity, Check) : null;

    public async Task<string> AddSuppressionKeyCheckAsync(string check, CancellationToken cancellationToken)
    {
        await table.AddAsync(
            new TableEntity(SuppressionPartition, CheckRow) { [Check] = check },
            "recording of the suppression key's check", cancellationToken);
        return await GetSuppressionKeyCheckAsync(cancellationToken)
            ?? throw new StoreMismatchException(
                $"the suppression key's check was deleted from table {table.Name} meanwhile: run this again");
    }

    public async Task AppendSuppressionAsync(Suppression suppression, bool lifted, CancellationToken cancellationToken)
    {
        var reason = lifted ? Lifted : suppression.Reason.ToString().ToLowerInvariant();
        while (true)
        {
            // The row keys of one hash lie between hash! and hash", which is the next character.
            var (number, last) = (0, lifted ? Lifted : "");
            await foreach (var entity in table.QueryAsync(
                $"PartitionKey eq '{SuppressionPartition}' and RowKey gt '{suppression.Hash}!' and RowKey lt '{suppression.Hash}\"'",
                null, "look-up of a suppression", cancellationToken: cancellationToken))
            {
                number = Math.Max(number, NumberOf(entity));
                last = TextOf(entity, Reason); // rows come in key order
            }
            // A later bounce doesn't replace the reason of an address that asked to be forgotten.
            if (last == reason || (last == Forgotten && !lifted))
                return;
            var added = new TableEntity(
                SuppressionPartition, string.Create(CultureInfo.InvariantCulture, $"{suppression.Hash}!{number + 1:D6}"))
            {
                [Reason] = reason,
                [SetAt] = TableText.Of(suppression.At),
            };
            if (await table.AddAsync(added, "recording of a suppression", cancellationToken))
                return;
        }
    }

    public async Task<IReadOnlyList<Suppression>> ListSuppressionsAsync(CancellationToken cancellationToken) =>
        [.. (await ReadLastAsync(cancellationToken)).Values.OfType<Suppression>()];

    public async Task<IReadOnlyList<string>> ListLiftedAsync(CancellationToken cancellationToken) =>
        [.. (await ReadLastAsync(cancellationToken)).Where(one => one.Value is null).Select(one => one.Key)];

    /// <summary>Returns the last row of each hash; null if the suppression was lifted.</summary>
    private async Task<Dictionary<string, Suppression?>> ReadLastAsync(CancellationToken cancellationToken)
    {
        var last = new Dictionary<string, Suppression?>(StringComparer.Ordinal);
        await foreach (var entity in QueryAsync(SuppressionPartition, "listing of suppressions", cancellationToken))
        {
            var key = entity.RowKey;
            if (key.IndexOf('!') is not (> 0 and var end))
                continue;
            var reason = TextOf(entity, Reason);
            // A reason that only a newer program knows suppresses as well.
            last[key[..end]] = reason == Lifted ? null : new Suppression(
                key[..end], Enum.TryParse<SuppressionReason>(reason, ignoreCase: true, out var known) ? known : SuppressionReason.Forgotten,
                TableText.TimeOf(entity, SetAt) ?? DateTimeOffset.UnixEpoch);
        }
        return last;
    }

    private static int NumberOf(TableEntity entity) =>
        int.TryParse(
            entity.RowKey.AsSpan(entity.RowKey.IndexOf('!') + 1), NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            ? number : 0;
}
