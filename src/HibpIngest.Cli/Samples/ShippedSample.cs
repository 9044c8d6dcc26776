namespace HibpIngest.Cli.Samples;

/// <summary>The sample that is shipped with the program: a breach, its metadata, and subscribers, some of whom are in it.</summary>
internal static class ShippedSample
{
    public const string Archive = "Contoso.zip";
    public const string Subscribers = "subscribers.csv";
    private const string Prefix = "samples/";

    public static void WriteTo(string folder)
    {
        var assembly = typeof(ShippedSample).Assembly;
        foreach (var resource in assembly.GetManifestResourceNames().Where(name => name.StartsWith(Prefix, StringComparison.Ordinal)))
        {
            using var content = assembly.GetManifestResourceStream(resource)!;
            using var file = File.Create(Path.Combine(folder, resource[Prefix.Length..]));
            content.CopyTo(file);
        }
    }
}
