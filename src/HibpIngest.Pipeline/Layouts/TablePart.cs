using System.Globalization;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>A part of a table; parts are walked in parallel.</summary>
/// <param name="Number">From 0.</param>
internal readonly record struct TablePart(TablePlace Place, int Number)
{
    /// <summary>Identifies the part in the record of a walk; unique across tables.</summary>
    public string Key => KeyOf(Place, Number);

    public static IReadOnlyList<TablePart> OfAccounts(LayoutFacts facts) => Of(facts, facts.AccountsTable, IAccountTable.Parts);

    public static IReadOnlyList<TablePart> OfRanges(LayoutFacts facts) => Of(facts, facts.RangesTable, IRangeTable.Parts);

    public static string KeyOf(TablePlace place, int number) =>
        string.Create(CultureInfo.InvariantCulture, $"{place.Table}@{place.StorageAccount}/{number}");

    private static List<TablePart> Of(LayoutFacts facts, string table, int parts) =>
        [.. from number in Enumerable.Range(0, parts)
            from account in facts.StorageAccounts
            select new TablePart(new TablePlace(account, table), number)];
}
