using System.Security;
using HibpIngest.Journal.Statistics;

namespace HibpIngest.Cli.Output;

internal static class StatsDrawing
{
    private const int Bars = 12;
    private const int Width = 860;
    private const int NameWidth = 230;
    private const int BarWidth = 470;
    private const int Line = 24;
    private const int Margin = 24;

    public static string Draw(JournalFigures figures)
    {
        var body = new StringBuilder();
        var y = Margin + 8;
        Text(Margin, y, $"{TableFormat.Number(figures.Accounts)} accounts in {TableFormat.Number(figures.Rows)} rows", 18, "start", "600");
        y += Line;
        y = Chart("Breaches, by their distinct accounts", figures.Breaches.Select(one => (one.Name, one.Accounts)), "#3b6ea8", y);
        y = Chart("Domains", figures.LargestDomains.Select(one => (one.Name, one.Accounts)), "#4f8a5b", y);
        y = Chart(
            "Accounts in both of two breaches", figures.Overlaps.Select(one => ($"{one.One}, {one.Other}", one.Accounts)), "#a8683b", y);
        return string.Create(
            CultureInfo.InvariantCulture,
            $"""
            <svg xmlns="http://www.w3.org/2000/svg" width="{Width}" height="{y}" viewBox="0 0 {Width} {y}"
                font-family="system-ui, sans-serif">
            <rect width="100%" height="100%" fill="#ffffff"/>
            {body}</svg>

            """);

        int Chart(string title, IEnumerable<(string Name, long Value)> values, string colour, int top)
        {
            var shown = values.Take(Bars).ToList();
            if (shown.Count == 0)
                return top;
            top += Line;
            Text(Margin, top, title, 14, "start", "600");
            var largest = Math.Max(shown.Max(one => one.Value), 1);
            foreach (var (name, value) in shown)
            {
                top += Line;
                var width = Math.Max(BarWidth * value / largest, 1);
                Text(Margin + NameWidth - 8, top, name.Length > 32 ? name[..31] + "…" : name, 13, "end", "400");
                body.Append(
                    CultureInfo.InvariantCulture,
                    $"<rect x=\"{Margin + NameWidth}\" y=\"{top - 13}\" width=\"{width}\" height=\"16\" fill=\"{colour}\"/>\n");
                Text(Margin + NameWidth + (int)width + 6, top, TableFormat.Number(value), 13, "start", "400");
            }
            return top + Line;
        }

        void Text(int x, int at, string text, int size, string anchor, string weight) => body.Append(
            CultureInfo.InvariantCulture,
            $"<text x=\"{x}\" y=\"{at}\" font-size=\"{size}\" font-weight=\"{weight}\" text-anchor=\"{anchor}\" fill=\"#222222\">")
            .Append(SecurityElement.Escape(text)).Append("</text>\n");
    }
}
