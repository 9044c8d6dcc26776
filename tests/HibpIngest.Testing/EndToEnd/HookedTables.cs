namespace HibpIngest.Testing;

internal sealed class HookedTables(
    IStoreTables tables, Func<IAccountTable, IAccountTable> table, Func<IRangeTable, IRangeTable> ranges) : IStoreTables
{
    public IAccountTable Accounts(TablePlace place) => table(tables.Accounts(place));

    public IRangeTable Ranges(TablePlace place) => ranges(tables.Ranges(place));

    public IAccountReads AccountReads(TablePlace place) => tables.AccountReads(place);

    public IRangeReads RangeReads(TablePlace place) => tables.RangeReads(place);
}
