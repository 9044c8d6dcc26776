namespace HibpIngest.Sql;

/// <summary>A provider's numbered scripts (Schema/0001-*.sql, 0002-*, ...), embedded in this assembly.</summary>
internal static class SchemaScripts
{
    /// <summary>The scripts in order; the first brings an empty database to version 1.</summary>
    /// <param name="provider">The folder that holds Schema.</param>
    public static IReadOnlyList<string> Read(string provider)
    {
        var assembly = typeof(SchemaScripts).Assembly;
        var folder = $"HibpIngest.Sql.{provider}.Schema.";
        var names = assembly.GetManifestResourceNames().Where(name => name.StartsWith(folder, StringComparison.Ordinal)).Order(StringComparer.Ordinal).ToList();
        var scripts = new List<string>();
        foreach (var name in names)
        {
            if (int.Parse(name.AsSpan(folder.Length, 4)) != scripts.Count + 1)
                throw new InvalidOperationException($"the schema's scripts are not numbered 1, 2, 3, ...: {name} is number {scripts.Count + 1}");
            using var reader = new StreamReader(assembly.GetManifestResourceStream(name)!);
            scripts.Add(reader.ReadToEnd());
        }
        return scripts;
    }
}
