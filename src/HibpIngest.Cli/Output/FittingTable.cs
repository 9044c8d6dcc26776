using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

/// <summary>A table if it fits, otherwise a block for each row: its first cell, and below it the others with their headings.</summary>
internal sealed class FittingTable : Renderable
{
    // From this width on, cells may wrap: words still fit.
    private const int Wide = 100;

    // Wider than any table.
    private const int Unbounded = 10_000;

    private const string Indent = "  ";
    private const string Gap = "   ";

    private readonly Table _table = new() { Border = TableBorder.Simple };
    private readonly string[] _headings;
    private readonly List<IReadOnlyList<IRenderable>> _rows = [];

    public FittingTable(params ReadOnlySpan<string> headings)
    {
        _headings = [.. headings];
        foreach (var heading in headings)
            _table.AddColumn(new TableColumn(new Text(heading, new Style(decoration: Decoration.Bold))));
    }

    public bool HasRows => _rows.Count > 0;

    public FittingTable AlignRight(params ReadOnlySpan<int> columns)
    {
        foreach (var column in columns)
            _table.Columns[column].Alignment = Justify.Right;
        return this;
    }

    public void AddRow(params IReadOnlyList<IRenderable> cells)
    {
        List<IRenderable> lines = [.. cells.Select(CleanedOutput.Cell)];
        _rows.Add(lines);
        _table.AddRow(lines);
    }

    public void AddRow(params IEnumerable<string> cells) => AddRow([.. cells.Select(cell => new Text(cell))]);

    public FittingTable AddRows<T>(IEnumerable<T> items, Func<T, IEnumerable<string>> cells)
    {
        foreach (var item in items)
            AddRow(cells(item));
        return this;
    }

    protected override Measurement Measure(RenderOptions options, int maxWidth) => new(1, maxWidth);

    protected override IEnumerable<Segment> Render(RenderOptions options, int maxWidth)
    {
        // A number split over two lines would be misread.
        foreach (var column in _table.Columns.Where(column => column.Alignment == Justify.Right))
            column.NoWrap = true;
        var (least, all) = Width(options);
        return all <= maxWidth || (maxWidth >= Wide && least <= maxWidth)
            ? ((IRenderable)_table).Render(options, maxWidth) : Blocks(options, maxWidth);
    }

    // With every word wrapped, and without wrapping.
    private (int Least, int All) Width(RenderOptions options)
    {
        // Around each column: one space of padding on each side, and the border.
        var (least, all) = ((_headings.Length * 3) + 1, (_headings.Length * 3) + 1);
        for (var column = 0; column < _headings.Length; column++)
        {
            var cells = _rows.Select(row => row[column].Measure(options, Unbounded)).ToList();
            var widest = Math.Max(_headings[column].Length, cells.Select(cell => cell.Max).DefaultIfEmpty().Max());
            all += widest;
            least += _table.Columns[column].NoWrap
                ? widest : Math.Max(_headings[column].Length, cells.Select(cell => cell.Min).DefaultIfEmpty().Max());
        }
        return (least, all);
    }

    private List<Segment> Blocks(RenderOptions options, int maxWidth)
    {
        var segments = new List<Segment> { Segment.LineBreak };
        foreach (var row in _rows)
        {
            AddLines(row[0], _headings[0].Length > 0 ? _headings[0] + " " : "", new Style(decoration: Decoration.Bold));
            var at = 0;
            for (var column = 1; column < row.Count; column++)
            {
                var width = row[column].Measure(options, Unbounded).Max;
                if (width == 0)
                    continue;
                var heading = _headings[column] + " ";
                var needed = heading.Length + width;
                if (at > 0 && at + Gap.Length + needed <= maxWidth)
                {
                    segments.Add(new Segment(Gap));
                    at += Gap.Length;
                }
                else
                {
                    EndLine();
                    if (Indent.Length + needed > maxWidth)
                    {
                        AddLines(row[column], Indent + heading, Style.Plain);
                        continue;
                    }
                    segments.Add(new Segment(Indent));
                    at = Indent.Length;
                }
                segments.Add(new Segment(heading));
                segments.AddRange(row[column].Render(options, width).Where(segment => !segment.IsLineBreak));
                at += needed;
            }
            EndLine();
            segments.Add(Segment.LineBreak);

            void EndLine()
            {
                if (at > 0)
                    segments.Add(Segment.LineBreak);
                at = 0;
            }
        }
        return segments;

        void AddLines(IRenderable cell, string heading, Style style)
        {
            var start = heading;
            var room = Math.Max(maxWidth - heading.Length, 1);
            foreach (var line in Segment.SplitLines(cell.Render(options, room)).Where(line => line.Count > 0))
            {
                segments.Add(new Segment(start, style));
                segments.AddRange(line);
                segments.Add(Segment.LineBreak);
                start = new string(' ', heading.Length);
            }
        }
    }
}
