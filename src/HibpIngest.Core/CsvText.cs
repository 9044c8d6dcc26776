namespace HibpIngest;

/// <summary>Cells of CSV files that people open in a spreadsheet.</summary>
public static class CsvText
{
    /// <summary>
    /// Returns whether a spreadsheet reads a cell as a formula. Such a cell gets a leading apostrophe, which marks it as text.
    /// </summary>
    public static bool IsFormula(ReadOnlySpan<char> cell) => cell.Length > 0 && cell[0] is '=' or '+' or '-' or '@';
}
