using System.Collections.Frozen;
using System.Security.Cryptography;

namespace HibpIngest.Api.Pages;

/// <summary>The stylesheet, the script and the icon, under names that contain a hash of their content.</summary>
internal static class PageAssets
{
    public const string CacheControl = "public, max-age=31536000, immutable";

    private static readonly FrozenDictionary<string, (string Type, ReadyContent Content)> ByName;

    static PageAssets()
    {
        var assets = new Dictionary<string, (string, ReadyContent)>(StringComparer.Ordinal);
        Style = Add("site.css", "text/css; charset=utf-8");
        Script = Add("site.js", "text/javascript; charset=utf-8");
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

    public static string Style { get; }
    public static string Script { get; }
    public static string Icon { get; }

    public static bool TryFind(string name, out (string Type, ReadyContent Content) asset) => ByName.TryGetValue(name, out asset);
}
