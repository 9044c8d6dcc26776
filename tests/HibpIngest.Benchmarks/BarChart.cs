using System.Security;

namespace HibpIngest.Benchmarks;

/// <summary>Draws a horizontal bar chart as SVG.</summary>
internal static class BarChart
{
    private const int Width = 860;
    private const int NameWidth = 300;
    private const int BarWidth = 440;
    private const int Line = 28;
    private const int Margin = 24;

    /// <summary>Draws the chart.</summary>
    /// <param name="title">Its title.</param>
    /// <param name="bars">From the top; published figures are paler.</param>
    public static string Draw(string title, IReadOnlyList<(string Name, double Value, bool IsPublished)> bars)
    {
        var height = (2 * Margin) + (Line * (bars.Count + 1));
        var body = new StringBuilder();
        Text(Margin, Margin + 10, title, 16, "start");
        var longest = bars.Max(bar => bar.Value);
        foreach (var (i, (name, value, isPublished)) in bars.Index())
        {
            var y = Margin + 10 + (Line * (i + 1));
            var width = Math.Max(BarWidth * value / longest, 1);
            Text(Margin + NameWidth - 8, y, name, 13, "end");
            body.Append(
                $"<rect x=\"{Margin + NameWidth}\" y=\"{y - 14}\" width=\"{width:F0}\" height=\"18\" ")
                .Append(isPublished ? "fill=\"#b9c7d6\"/>\n" : "fill=\"#3b6ea8\"/>\n");
            Text(Margin + NameWidth + (int)width + 6, y, $"{value:N0}", 13, "start");
        }
        return $"""
            <svg xmlns="http://www.w3.org/2000/svg" width="{Width}" height="{height}" viewBox="0 0 {Width} {height}"
                font-family="system-ui, sans-serif">
            <rect width="100%" height="100%" fill="#ffffff"/>
            {body}</svg>

            """;

        void Text(int x, int y, string text, int size, string anchor) => body.Append(
            $"<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"#222222\">")
            .Append(SecurityElement.Escape(text)).Append("</text>\n");
    }
}
