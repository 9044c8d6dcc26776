using System.Net;
using System.Text.RegularExpressions;

namespace HibpIngest.Pipeline.Mail;

/// <summary>
/// A text with placeholders. <c>{{name}}</c> is a value. <c>{{#name}}...{{/name}}</c> is written if the value is true or a non-empty text,
/// and once for each item of a list, as <c>{{.}}</c>. In HTML every value is encoded. A name without a value is an error, so that no mail
/// is sent with a misspelt one.
/// </summary>
internal sealed partial class MailTemplate(string text, bool html)
{
    // A tag that is alone on its line is removed together with the line.
    private readonly string _text = LoneTag().Replace(text.ReplaceLineEndings("\n"), "${tag}");
    private string? _file;

    public static MailTemplate Load(string file)
    {
        using var stream = typeof(MailTemplate).Assembly.GetManifestResourceStream($"HibpIngest.Pipeline.Mail.Templates.{file}")
            ?? throw new InvalidOperationException($"embedded mail template {file} is missing: rebuild HibpIngest.Pipeline");
        using var reader = new StreamReader(stream, Encoding.UTF8);
        return new MailTemplate(reader.ReadToEnd(), file.EndsWith(".html", StringComparison.Ordinal));
    }

    public static MailTemplate LoadFile(string path) =>
        new(File.ReadAllText(path), path.EndsWith(".html", StringComparison.Ordinal)) { _file = Path.GetFileName(path) };

    /// <summary>Values are string, bool or a list of strings; null is an empty text. Tags in values stay.</summary>
    public string Render(IReadOnlyDictionary<string, object?> values)
    {
        var result = new StringBuilder();
        try
        {
            Render(_text, values, item: null, result);
        }
        catch (InvalidOperationException e) when (_file is not null)
        {
            throw new BadInputException($"HIBP_TEMPLATES, {_file}: {e.Message}");
        }
        return result.ToString();
    }

    private void Render(ReadOnlySpan<char> text, IReadOnlyDictionary<string, object?> values, string? item, StringBuilder result)
    {
        while (text.IndexOf("{{") is >= 0 and var open)
        {
            result.Append(text[..open]);
            var close = text[open..].IndexOf("}}");
            if (close < 0)
                throw new InvalidOperationException("}} is missing after a {{");
            close += open;
            var tag = text[(open + 2)..close].ToString();
            text = text[(close + 2)..];
            if (tag == ".")
            {
                result.Append(Encode(item ?? throw new InvalidOperationException("{{.}} is valid only inside a list")));
                continue;
            }
            if (!tag.StartsWith('#'))
            {
                result.Append(Encode(Value(values, tag) switch
                {
                    null => "",
                    string value => value,
                    _ => throw new InvalidOperationException($"{{{{{tag}}}}} is not a text: it is for {{{{#{tag}}}}}"),
                }));
                continue;
            }
            var end = $"{{{{/{tag[1..]}}}}}";
            var length = text.IndexOf(end);
            if (length < 0)
                throw new InvalidOperationException($"{end} is missing");
            var inner = text[..length];
            text = text[(length + end.Length)..];
            switch (Value(values, tag[1..]))
            {
                case true or string { Length: > 0 }:
                    Render(inner, values, item, result);
                    break;
                case IReadOnlyList<string> items:
                    foreach (var each in items)
                        Render(inner, values, each, result);
                    break;
            }
        }
        result.Append(text);
    }

    private static object? Value(IReadOnlyDictionary<string, object?> values, string name) =>
        values.TryGetValue(name, out var value)
        ? value : throw new InvalidOperationException($"the template uses '{name}', which has no value");

    private string Encode(string value) => html ? WebUtility.HtmlEncode(value) : value;

    [GeneratedRegex(
        @"^[ \t]*(?<tag>\{\{[#/]\w+\}\})[ \t]*\n", RegexOptions.Multiline | RegexOptions.CultureInvariant, matchTimeoutMilliseconds: 1000)]
    private static partial Regex LoneTag();
}

internal sealed record MailTemplates(
    MailTemplate IndividualText, MailTemplate IndividualHtml, MailTemplate DomainText, MailTemplate DomainHtml,
    MailTemplate MessageText, MailTemplate MessageHtml, MailTemplate WelcomeText, MailTemplate WelcomeHtml)
{
    private static readonly string[] Names =
    [
        "individual.txt", "individual.html", "domain.txt", "domain.html", "message.txt", "message.html", "welcome.txt", "welcome.html",
    ];

    public static MailTemplates Read(string? folder)
    {
        try
        {
            var custom = folder is null ? [] : Directory.GetFiles(folder).Select(path => Path.GetFileName(path)).ToHashSet();
            foreach (var name in custom.Where(name => Path.GetExtension(name) is ".txt" or ".html" && !Names.Contains(name)))
            {
                throw new BadInputException($"HIBP_TEMPLATES has {name}, which is not a template; these are: {string.Join(", ", Names)}"
                    + (Spelling.Nearest(name, Names) is { } nearest ? $"; did you mean {nearest}?" : ""));
            }
            var all = Names.Select(
                name => custom.Contains(name) ? MailTemplate.LoadFile(Path.Combine(folder!, name)) : MailTemplate.Load(name)).ToList();
            return new MailTemplates(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new BadInputException($"HIBP_TEMPLATES '{folder}' can't be read: {e.Message}");
        }
    }
}
