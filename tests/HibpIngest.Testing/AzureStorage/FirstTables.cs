namespace HibpIngest.Testing;

/// <summary>The tables of the first layout, the only one in most tests.</summary>
internal static class FirstTables
{
    private static readonly TablePlace AccountsAt = new(1, StoreLayout.First.Facts.AccountsTable);
    private static readonly TablePlace RangesAt = new(1, StoreLayout.First.Facts.RangesTable);

    extension(StorageAccount account)
    {
        public IAccountTable Table => account.Tables.Accounts(AccountsAt);

        public IAccountReads Accounts => account.Tables.AccountReads(AccountsAt);

        public IRangeTable Ranges => account.Tables.Ranges(RangesAt);
    }

    extension(PipelineParts context)
    {
        public IAccountTable Table => context.Tables.Accounts(AccountsAt);

        public IRangeTable Ranges => context.Tables.Ranges(RangesAt);

        /// <summary>Replaces each account table, and optionally each range table.</summary>
        public PipelineParts WithTable(IAccountTable table, IRangeTable? ranges = null) =>
            context with { Tables = new HookedTables(context.Tables, _ => table, real => ranges ?? real) };
    }
}
