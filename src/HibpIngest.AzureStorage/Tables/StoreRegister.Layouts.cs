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
                if (now.Ranges >= layout.Ranges)
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
            writer.WriteString(Facts, JsonSerializer.Serialize(layout.Facts, LayoutJson.Default.LayoutFacts));
            writer.WriteNumber(Ranges, (int)layout.Ranges);
        }
    }

    public Task AddReadLayoutAsync(int layout, CancellationToken cancellationToken) =>
        tables.InsertAsync(
            table, LayoutPartition, ReadRow, writer => writer.WriteNumber(Layout, layout), "recording of the layout that is read",
            cancellationToken);

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
            && JsonSerializer.Deserialize(facts.GetString()!, LayoutJson.Default.LayoutFacts) is { } parsed
            && entity.TryGetProperty(Ranges, out var ranges) && ranges.TryGetInt32(out var state))
            return new StoreLayout { Id = id, Facts = parsed, Ranges = (RangesState)state };
        throw new StoreMismatchException($"layout '{row}' in table {table} can't be read: the table was written by something else");
    }
}
