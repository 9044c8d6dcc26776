using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using HibpIngest.Ports;
using Microsoft.Extensions.Logging;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>The accounts in Table Storage.</summary>
internal sealed partial class AccountTable(TableService tables, string table, ILogger<AccountTable> logger) : IAccountTable
{
    /// <summary>Changes in flight while a breach is taken off: each is a round trip of its own.</summary>
    private const int RemovalsInFlight = 32;

    private readonly byte[] _address = tables.TableAddress(table);

    public Task CreateAsync(CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public async Task UpsertAsync(ReadOnlyMemory<byte> domain, ReadOnlyMemory<Range> aliases, ReadOnlyMemory<byte> bytes, int breachId, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(breachId, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(aliases.Length, IAccountTable.MaxTransactionEntities);
        if (aliases.IsEmpty)
            return;
        if (aliases.Length == 1)
        {
            // Most domains of a breach have one account in it. Without the envelope of a transaction, the emulator takes 40% less time over it.
            var alias = Encoding.ASCII.GetString(bytes.Span[aliases.Span[0]]);
            var row = (breachId - 1) / IAccountTable.BreachesPerRow;
            await tables.MergeAsync(table, Encoding.ASCII.GetString(domain.Span), RowKey(alias, row), writer => writer.WriteBoolean(Property(breachId), true), "upsert of 1 account", cancellationToken);
            return;
        }

        using var transaction = TableTransaction.Upsert(_address, domain.Span, aliases.Span, bytes.Span, breachId);
        await tables.SubmitAsync(transaction, cancellationToken);
    }

    public async Task<IReadOnlyList<int>> GetBreachesAsync(string domain, string alias, int highestBreachId, CancellationToken cancellationToken)
    {
        var rows = highestBreachId < 1 ? 1 : ((highestBreachId - 1) / IAccountTable.BreachesPerRow) + 1;
        var reads = new Task<JsonElement?>[rows];
        for (var row = 0; row < rows; row++)
            reads[row] = tables.GetAsync(table, domain, RowKey(alias, row), "look-up of an account", cancellationToken);
        var found = await Task.WhenAll(reads);

        var breaches = new List<int>();
        foreach (var entity in found)
        {
            if (entity is { } row)
                breaches.AddRange(row.EnumerateObject().Where(IsMark).Select(mark => BreachId(mark.Name)));
        }

        breaches.Sort();
        return breaches;
    }

    public async IAsyncEnumerable<string> ListAliasesAsync(string domain, int breachId, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var filter = $"PartitionKey eq '{domain.Replace("'", "''", StringComparison.Ordinal)}' and {Property(breachId)} eq true";
        await foreach (var entity in tables.QueryAsync(table, filter, "RowKey", "listing of a domain's accounts", cancellationToken))
            yield return Alias(entity.GetProperty("RowKey").GetString()!);
    }

    public async Task<long> RemoveBreachAsync(int breachId, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var property = Property(breachId);
        long changed = 0;
        var entities = tables.QueryAsync(table, $"{property} eq true", null, "search for a breach's accounts", cancellationToken);
        var parallel = new ParallelOptions { MaxDegreeOfParallelism = RemovalsInFlight, CancellationToken = cancellationToken };
        await Parallel.ForEachAsync(entities, parallel, async (entity, token) =>
        {
            if (!await RemoveAsync(entity, property, token))
                return;
            var soFar = Interlocked.Increment(ref changed);
            if (soFar % 1000 == 0)
                progress?.Report(soFar);
        });
        progress?.Report(changed);
        LogRemoved(breachId, changed);
        return changed;
    }

    private static string Property(int breachId) => string.Create(CultureInfo.InvariantCulture, $"b{breachId}");

    private static string RowKey(string alias, int row) => row == 0 ? alias : string.Create(CultureInfo.InvariantCulture, $"{alias}!{row}");

    private static string Alias(string rowKey)
    {
        var mark = rowKey.IndexOf('!', StringComparison.Ordinal);
        return mark < 0 ? rowKey : rowKey[..mark];
    }

    private static bool IsMark(JsonProperty property) => property.Value.ValueKind == JsonValueKind.True && BreachId(property.Name) > 0;

    /// <summary>17 of "b17"; 0 of any other name.</summary>
    private static int BreachId(string property) =>
        property.Length > 1 && property[0] == 'b' && int.TryParse(property.AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture, out var id) ? id : 0;

    /// <summary>Takes the property off; a lost race is read again. False: it was off by then.</summary>
    private async Task<bool> RemoveAsync(JsonElement entity, string property, CancellationToken cancellationToken)
    {
        const string Operation = "removal of a breach from an account";
        var (domain, rowKey) = (entity.GetProperty("PartitionKey").GetString()!, entity.GetProperty("RowKey").GetString()!);
        while (true)
        {
            var etag = entity.GetProperty("odata.etag").GetString()!;
            var others = entity.EnumerateObject().Where(mark => IsMark(mark) && mark.Name != property).Select(mark => mark.Name).ToArray();
            var done = others.Length == 0
                ? await tables.DeleteAsync(table, domain, rowKey, etag, Operation, cancellationToken)
                : await tables.ReplaceAsync(table, domain, rowKey, etag, writer => Array.ForEach(others, name => writer.WriteBoolean(name, true)), Operation, cancellationToken);
            if (done)
                return true;
            if (await tables.GetAsync(table, domain, rowKey, Operation, cancellationToken) is not { } now || !now.TryGetProperty(property, out _))
                return false;
            entity = now;
        }
    }

    [LoggerMessage(EventId = 4101, Level = LogLevel.Information, Message = "Took breach {BreachId} off {Entities} entities")]
    private partial void LogRemoved(int breachId, long entities);
}
