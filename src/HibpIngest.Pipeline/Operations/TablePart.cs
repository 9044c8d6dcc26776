using System.Globalization;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>A part of a table, as they are walked side by side.</summary>
/// <param name="Number">0 and up.</param>
internal readonly record struct TablePart(TablePlace Place, int Number)
{
    /// <summary>What stands for it in a record of a walk; those of other tables have others.</summary>
    public string Key => KeyOf(Place, Number);

    /// <summary>The parts of a layout's tables of accounts.</summary>
    public static IReadOnlyList<TablePart> OfAccounts(LayoutFacts facts) => Of(facts, facts.AccountsTable, IAccountTable.Parts);

    /// <summary>The parts of its tables of hashes.</summary>
    public static IReadOnlyList<TablePart> OfRanges(LayoutFacts facts) => Of(facts, facts.RangesTable, IRangeTable.Parts);

    public static string KeyOf(TablePlace place, int number) =>
        string.Create(CultureInfo.InvariantCulture, $"{place.Table}@{place.StorageAccount}/{number}");

    private static List<TablePart> Of(LayoutFacts facts, string table, int parts) =>
        [.. from number in Enumerable.Range(0, parts)
            from account in facts.StorageAccounts
            select new TablePart(new TablePlace(account, table), number)];
}
