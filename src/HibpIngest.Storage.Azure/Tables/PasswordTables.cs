namespace HibpIngest.Storage.Azure.Tables;

internal sealed class PasswordTables(TableService tables, WriteThrottle throttle) : IPasswordTables
{
    private const string Count = "count";

    private static readonly string[] Properties = ["RowKey", Count];

    public Task<bool> CreateAsync(string table, CancellationToken cancellationToken) => tables.Table(table).CreateAsync(cancellationToken);

    public async Task<IReadOnlyList<PasswordRow>> ReadAsync(string table, string prefix, CancellationToken cancellationToken)
    {
        // The error text omits the prefix: it reveals what the caller searched for.
        const string Operation = "reading of a range of passwords";
        var rows = new List<PasswordRow>();
        await foreach (var entity in tables.Table(table).QueryAsync(
            $"PartitionKey eq '{prefix}'", Properties, Operation, isOptional: true, cancellationToken))
        {
            // Other programs may have written 32-bit counts.
            long? count = entity[Count] switch { long wide => wide, int narrow => narrow, _ => null };
            rows.Add(new PasswordRow(entity.RowKey, count is >= 0 ? count.Value : throw StorageErrors.Malformed(Operation)));
        }
        return rows;
    }

    public async Task WriteAsync(
        string table, string prefix, IReadOnlyList<PasswordRow> rows, CancellationToken cancellationToken)
    {
        var (target, partition) = (tables.Table(table), Encoding.ASCII.GetBytes(prefix));
        foreach (var chunk in rows.Chunk(IAccountTable.MaxTransactionEntities))
        {
            await throttle.SendWithoutTimeoutAsync(
                table, partition, chunk.Length,
                () => target.SubmitAsync(address => TableTransaction.Passwords(address, partition, chunk), cancellationToken),
                cancellationToken);
        }
    }

    public Task DropAsync(string table, CancellationToken cancellationToken) => tables.Table(table).DropAsync(cancellationToken);
}
