using System.Resources;

namespace HibpIngest.Api.Pages;

/// <summary>The texts of the pages, from Text.resx. To add a language, add a file Text.CULTURE.resx (Text.de.resx).</summary>
internal static class PageText
{
    private static readonly ResourceManager Texts = new("HibpIngest.Api.Pages.Text", typeof(PageText).Assembly);

    public static string Get(string name) => Find(name) ?? throw new InvalidOperationException($"Text.resx has no {name}");

    public static string Format(string name, params object[] values) => string.Format(CultureInfo.InvariantCulture, Get(name), values);

    public static string? Find(string name) => Texts.GetString(name, CultureInfo.CurrentUICulture);
}
