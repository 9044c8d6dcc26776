using HibpIngest.Lookup;

namespace HibpIngest.Web;

/// <summary>Logos of breaches.</summary>
internal sealed class LogoEndpoints(CatalogueReader catalogue, LogoReader logos)
{
    private const string Extension = ".png";

    private static readonly ReadyContent Default = ReadDefault();

    /// <summary><c>GET /logos/{name}.png</c>; ours for a breach that has none.</summary>
    public async Task LogoAsync(WebCall call)
    {
        if (!call.Parameter.EndsWith(Extension, StringComparison.OrdinalIgnoreCase))
        {
            await ErrorAnswer.NotFound.WriteAsync(call.Response);
            return;
        }
        var name = call.Parameter[..^Extension.Length];
        // Only what the catalogue lists is looked for: anybody may ask here.
        var logo = (await catalogue.GetAsync(call.Aborted)).Find(name) is { } breach
            ? await logos.FindAsync(breach.Model.Name, call.Aborted) ?? Default
            : name.Equals("default", StringComparison.OrdinalIgnoreCase) ? Default : null;
        if (logo is null)
            await ErrorAnswer.NotFound.WriteAsync(call.Response);
        else
            await ReadyAnswer.WriteAsync(call.Context, logo, "image/png");
    }

    private static ReadyContent ReadDefault()
    {
        using var stream = typeof(LogoEndpoints).Assembly.GetManifestResourceStream("default-logo.png")!;
        var bytes = new byte[stream.Length];
        stream.ReadExactly(bytes);
        return ReadyContent.OfImage(bytes);
    }
}
