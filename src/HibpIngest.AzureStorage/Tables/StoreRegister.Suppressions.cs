using System.Globalization;
using System.Text.Json;
using HibpIngest.Breaches;
using HibpIngest.Errors;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class StoreRegister
{
    private const string SuppressionPartition = "suppression";
    private const string CheckRow = "check";
    private const string Check = "Check";
    private const string Reason = "Reason";
    private const string Lifted = "lifted";

    public async Task<string?> GetSuppressionCheckAsync(CancellationToken cancellationToken) =>
        await tables.GetAsync(
            table, SuppressionPartition, CheckRow, "reading of the suppressions' check", cancellationToken) is { } entity
            ? TextOf(entity, Check) : null;

    public async Task<string> AddSuppressionCheckAsync(string check, CancellationToken cancellationToken)
    {
        await tables.InsertAsync(
            table, SuppressionPartition, CheckRow, writer => writer.WriteString(Check, check), "recording of the suppressions' check",
            cancellationToken);
        return await GetSuppressionCheckAsync(cancellationToken)
            ?? throw new StoreMismatchException($"the suppressions' check has just been deleted from table {table}");
    }

    public async Task AppendSuppressionAsync(Suppression suppression, bool lifted, CancellationToken cancellationToken)
    {
        var reason = lifted ? Lifted : ToText(suppression.Reason);
        while (true)
        {
            // The row keys of one hash lie between hash! and hash", which is the next character.
            var (number, last) = (0, lifted ? Lifted : "");
            await foreach (var entity in tables.QueryAsync(
                table,
                $"PartitionKey eq '{SuppressionPartition}' and RowKey gt '{suppression.Hash}!' and RowKey lt '{suppression.Hash}\"'",
                null, "look-up of a suppression", cancellationToken))
            {
                number = Math.Max(number, NumberOf(entity));
                last = TextOf(entity, Reason); // in the order of the keys
            }
            if (last == reason)
                return;
            var key = string.Create(CultureInfo.InvariantCulture, $"{suppression.Hash}!{number + 1:D6}");
            if (await tables.InsertAsync(table, SuppressionPartition, key, Write, "recording of a suppression", cancellationToken))
                return;
        }

        void Write(Utf8JsonWriter writer)
        {
            writer.WriteString(Reason, reason);
            writer.WriteString(SetAt, Text(suppression.At));
        }
    }

    public async Task<IReadOnlyList<Suppression>> ListSuppressionsAsync(CancellationToken cancellationToken) =>
        [.. (await ReadLastAsync(cancellationToken)).Values.OfType<Suppression>()];

    public async Task<IReadOnlyList<string>> ListLiftedAsync(CancellationToken cancellationToken) =>
        [.. (await ReadLastAsync(cancellationToken)).Where(one => one.Value is null).Select(one => one.Key)];

    /// <summary>The last word on each hash; null: lifted.</summary>
    private async Task<Dictionary<string, Suppression?>> ReadLastAsync(CancellationToken cancellationToken)
    {
        var last = new Dictionary<string, Suppression?>(StringComparer.Ordinal);
        await foreach (var entity in tables.QueryAsync(
            table, $"PartitionKey eq '{SuppressionPartition}'", null, "listing of suppressions",
            cancellationToken))
        {
            Add(entity);
        }
        return last;

        void Add(JsonElement entity)
        {
            var key = entity.GetProperty("RowKey").GetString()!;
            if (key.IndexOf('!') is not (> 0 and var end))
                return;
            var reason = TextOf(entity, Reason);
            // What a newer program has as a reason suppresses as well.
            last[key[..end]] = reason == Lifted ? null : new Suppression(
                key[..end], Enum.TryParse<SuppressionReason>(reason, ignoreCase: true, out var known) ? known : SuppressionReason.Forgotten,
                TimeOf(entity, SetAt) ?? DateTimeOffset.UnixEpoch);
        }
    }

    private static string ToText(SuppressionReason reason) => reason.ToString().ToLowerInvariant();

    private static int NumberOf(JsonElement entity)
    {
        var key = entity.GetProperty("RowKey").GetString()!;
        return int.TryParse(key.AsSpan(key.IndexOf('!') + 1), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : 0;
    }
}
