namespace HibpIngest.Storage.Azure.Tables;

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
            return null; // the register doesn't exist yet
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
            if (await table.FindAsync(LayoutPartition, row, "reading of a layout", cancellationToken) is { } entity)
            {
                var now = ParseLayout(entity);
                if (now.Facts != layout.Facts)
                {
                    throw new StoreMismatchException($"layout {row} of the store register, table {table.Name}, differs from the "
                        + "database's: use the database and the storage account that belong together");
                }
                layout = layout with
                {
                    Ranges = (RangesState)Math.Max((int)now.Ranges, (int)layout.Ranges),
                    IsDropped = now.IsDropped || layout.IsDropped,
                };
                if (now == layout)
                    return;
                done = await table.ReplaceAsync(ToEntity(), entity.ETag, Operation, cancellationToken) is not null;
            }
            else
                done = await table.AddAsync(ToEntity(), Operation, cancellationToken);
            if (done)
                return;
        }

        TableEntity ToEntity()
        {
            var entity = new TableEntity(LayoutPartition, row) { [Facts] = layout.Facts.ToJson(), [Ranges] = (int)layout.Ranges };
            if (layout.IsDropped)
                entity[Dropped] = true;
            return entity;
        }
    }

    public Task AddReadLayoutAsync(int layout, CancellationToken cancellationToken) =>
        table.AddAsync(ReadLayout(layout), "recording of the layout that is read", cancellationToken);

    public async Task<bool> TrySwitchAsync(int from, int to, CancellationToken cancellationToken)
    {
        const string Operation = "switch of the layout that is read";
        if (await table.FindAsync(LayoutPartition, ReadRow, Operation, cancellationToken) is not { } entity
            || entity[Layout] is not int read)
            return false;
        if (read == to)
            return true; // done before; the response was lost
        return read == from && await table.ReplaceAsync(ReadLayout(to), entity.ETag, Operation, cancellationToken) is not null;
    }

    private static TableEntity ReadLayout(int layout) => new(LayoutPartition, ReadRow) { [Layout] = layout };

    private async Task<(List<StoreLayout> Layouts, int? Read)> ReadLayoutsAsync(CancellationToken cancellationToken)
    {
        var layouts = new List<StoreLayout>();
        int? read = null;
        await foreach (var entity in QueryAsync(LayoutPartition, "reading of the layouts", cancellationToken))
        {
            if (entity.RowKey != ReadRow)
                layouts.Add(ParseLayout(entity));
            else if (entity[Layout] is int number)
                read = number;
        }
        return ([.. layouts.OrderBy(layout => layout.Id)], read);
    }

    private StoreLayout ParseLayout(TableEntity entity)
    {
        if (int.TryParse(entity.RowKey, NumberStyles.None, CultureInfo.InvariantCulture, out var id)
            && entity[Facts] is string facts && entity[Ranges] is int state)
        {
            return new StoreLayout
            {
                Id = id,
                Facts = LayoutFacts.Parse(facts),
                Ranges = (RangesState)state,
                IsDropped = entity.ContainsKey(Dropped),
            };
        }
        throw table.Unreadable($"layout '{entity.RowKey}' in");
    }
}
