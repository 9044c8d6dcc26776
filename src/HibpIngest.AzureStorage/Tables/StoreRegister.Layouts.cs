using System.Globalization;
using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class StoreRegister
{
    private const string Facts = "Facts";
    private const string Ranges = "Ranges";
    private const string Layout = "Layout";
    private const string Dropped = "Dropped";

    public async Task<StoreLayout?> GetReadLayoutAsync(CancellationToken cancellationToken)
    {
        try
        {
            var (layouts, read) = await ReadLayoutsAsync(cancellationToken);
            return layouts.Find(layout => layout.Id == read);
        }
        catch (StoreMissingException)
        {
            return null; // no register yet
        }
    }

    public async Task<IReadOnlyList<StoreLayout>> ListLayoutsAsync(CancellationToken cancellationToken) =>
        (await ReadLayoutsAsync(cancellationToken)).Layouts;

    public async Task PutLayoutAsync(StoreLayout layout, CancellationToken cancellationToken)
    {
        const string Operation = "recording of a layout";
        var row = layout.Id.ToString(CultureInfo.InvariantCulture);
        while (true)
        {
            bool done;
            if (await tables.GetAsync(table, LayoutPartition, row, "reading of a layout", cancellationToken) is { } entity)
            {
                var now = ParseLayout(row, entity);
                if (now.Facts != layout.Facts)
                {
                    throw new StoreMismatchException($"layout {row} of the store register, table {table}, is another than the database's: "
                        + "use the database and the storage account that belong together");
                }
                layout = layout with
                {
                    Ranges = (RangesState)Math.Max((int)now.Ranges, (int)layout.Ranges),
                    IsDropped = now.IsDropped || layout.IsDropped,
                };
                if (now == layout)
                    return;
                done = await tables.ReplaceAsync(
                    table, LayoutPartition, row, entity.GetProperty("odata.etag").GetString()!, Write, Operation, cancellationToken);
            }
            else
            {
                done = await tables.InsertAsync(table, LayoutPartition, row, Write, Operation, cancellationToken);
            }
            if (done)
                return;
        }

        void Write(Utf8JsonWriter writer)
        {
            writer.WriteString(Facts, layout.Facts.ToJson());
            writer.WriteNumber(Ranges, (int)layout.Ranges);
            if (layout.IsDropped)
                writer.WriteBoolean(Dropped, true);
        }
    }

    public Task AddReadLayoutAsync(int layout, CancellationToken cancellationToken) =>
        tables.InsertAsync(
            table, LayoutPartition, ReadRow, writer => writer.WriteNumber(Layout, layout), "recording of the layout that is read",
            cancellationToken);

    public async Task<bool> TrySwitchAsync(int from, int to, CancellationToken cancellationToken)
    {
        const string Operation = "switch of the layout that is read";
        if (await tables.GetAsync(table, LayoutPartition, ReadRow, Operation, cancellationToken) is not { } entity
            || !entity.TryGetProperty(Layout, out var id) || !id.TryGetInt32(out var read))
            return false;
        if (read == to)
            return true; // this had been done, and its answer was lost
        return read == from && await tables.ReplaceAsync(
            table, LayoutPartition, ReadRow, entity.GetProperty("odata.etag").GetString()!, writer => writer.WriteNumber(Layout, to),
            Operation, cancellationToken);
    }

    private async Task<(List<StoreLayout> Layouts, int? Read)> ReadLayoutsAsync(CancellationToken cancellationToken)
    {
        var layouts = new List<StoreLayout>();
        int? read = null;
        var rows = tables.QueryAsync(table, $"PartitionKey eq '{LayoutPartition}'", null, "reading of the layouts", cancellationToken);
        await foreach (var entity in rows)
        {
            var row = entity.GetProperty("RowKey").GetString()!;
            if (row != ReadRow)
                layouts.Add(ParseLayout(row, entity));
            else if (entity.TryGetProperty(Layout, out var id) && id.TryGetInt32(out var number))
                read = number;
        }
        return ([.. layouts.OrderBy(layout => layout.Id)], read);
    }

    private StoreLayout ParseLayout(string row, JsonElement entity)
    {
        if (int.TryParse(row, NumberStyles.None, CultureInfo.InvariantCulture, out var id)
            && entity.TryGetProperty(Facts, out var facts) && facts.ValueKind == JsonValueKind.String
            && entity.TryGetProperty(Ranges, out var ranges) && ranges.TryGetInt32(out var state))
        {
            return new StoreLayout
            {
                Id = id,
                Facts = LayoutFacts.Parse(facts.GetString()!),
                Ranges = (RangesState)state,
                IsDropped = entity.TryGetProperty(Dropped, out _),
            };
        }
        throw new StoreMismatchException($"layout '{row}' in table {table} can't be read: the table was written by something else");
    }
}
