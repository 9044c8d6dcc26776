using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

/// <summary>
/// Replaces control characters in everything that a console draws (<see cref="TerminalText"/>), except the console's own escape sequences.
/// </summary>
internal sealed class CleanedOutput : IRenderHook
{
    public static IAnsiConsole Attach(IAnsiConsole console)
    {
        console.Pipeline.Attach(new CleanedOutput());
        return console;
    }

    public IEnumerable<IRenderable> Process(RenderOptions options, IEnumerable<IRenderable> renderables) =>
        renderables.Select(renderable => new Cleaned(renderable));

    /// <summary>Returns a table cell as one line, cleaned before its width is measured.</summary>
    public static IRenderable Cell(IRenderable cell) => new OneLine(cell);

    private sealed class Cleaned(IRenderable inner) : Renderable
    {
        protected override Measurement Measure(RenderOptions options, int maxWidth) => inner.Measure(options, maxWidth);

        protected override IEnumerable<Segment> Render(RenderOptions options, int maxWidth) =>
            inner.Render(options, maxWidth).Select(segment => segment.IsControlCode || segment.IsLineBreak ? segment
                : new Segment(TerminalText.Clean(segment.Text), segment.Style));
    }

    private sealed class OneLine(IRenderable inner) : Renderable
    {
        // Wider than any cell.
        private const int Unbounded = 1_000_000;

        private IRenderable? _line;

        protected override Measurement Measure(RenderOptions options, int maxWidth) => Line(options).Measure(options, maxWidth);

        protected override IEnumerable<Segment> Render(RenderOptions options, int maxWidth) => Line(options).Render(options, maxWidth);

        private IRenderable Line(RenderOptions options)
        {
            if (_line is not null)
                return _line;
            var line = new Paragraph();
            foreach (var (number, part) in Segment.SplitLines(inner.Render(options, Unbounded)).Index())
            {
                if (number > 0)
                    line.Append(" ");
                foreach (var segment in part.Where(segment => !segment.IsControlCode))
                    line.Append(TerminalText.OneLine(segment.Text), segment.Style);
            }
            return _line = line;
        }
    }
}
