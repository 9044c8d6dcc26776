using System.Collections.Frozen;

namespace HibpIngest.Api.Pages;

/// <summary>Stylesheet, scripts and icon of the pages, under names that contain a hash of their content.</summary>
public static class PageAssets
{
    // A changed file has another name.
    private const string CacheControl = "public, max-age=31536000, immutable";

    private static readonly FrozenDictionary<string, (string Type, ReadyContent Content)> ByName;

    static PageAssets()
    {
        var assets = new Dictionary<string, (string, ReadyContent)>(StringComparer.Ordinal);
        Style = Add("site.css", "text/css; charset=utf-8");
        Script = Add("site.js", "text/javascript; charset=utf-8");
        StatusScript = Add("status.js", "text/javascript; charset=utf-8");
        Icon = Add("icon.svg", "image/svg+xml");
        ByName = assets.ToFrozenDictionary(StringComparer.Ordinal);

        string Add(string file, string type)
        {
            using var stream = typeof(PageAssets).Assembly.GetManifestResourceStream($"asset/{file}")!;
            var bytes = new byte[stream.Length];
            stream.ReadExactly(bytes);
            var hash = Convert.ToHexStringLower(SHA256.HashData(bytes))[..12];
            var name = file.Insert(file.IndexOf('.', StringComparison.Ordinal), $".{hash}");
            assets.Add(name, (type, ReadyContent.Of(bytes)));
            return $"/assets/{name}";
        }
    }

    /// <summary>Path of the stylesheet.</summary>
    public static string Style { get; }

    /// <summary>Path of the icon.</summary>
    public static string Icon { get; }

    /// <summary>Path of the script of the operators' status page.</summary>
    public static string StatusScript { get; }

    internal static string Script { get; }

    /// <summary>Answers the request for an asset by its name, or with 404.</summary>
    public static Task WriteAsync(HttpContext context, string name) => ByName.TryGetValue(name, out var asset)
        ? new ReadyResponse(asset.Content, asset.Type, CacheControl).ExecuteAsync(context) : ErrorResponse.NotFound.ExecuteAsync(context);
}
