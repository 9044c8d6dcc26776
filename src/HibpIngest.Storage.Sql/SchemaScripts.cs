namespace HibpIngest.Storage.Sql;

internal static class SchemaScripts
{
    /// <summary>Reads the scripts of a provider's folder in order; the first brings an empty database to version 1.</summary>
    public static IReadOnlyList<string> Read(string provider)
    {
        var assembly = typeof(SchemaScripts).Assembly;
        var folder = $"HibpIngest.Storage.Sql.{provider}.Schema.";
        var names = assembly.GetManifestResourceNames().Where(name => name.StartsWith(folder, StringComparison.Ordinal));
        var scripts = new List<string>();
        foreach (var name in names.Order(StringComparer.Ordinal))
        {
            if (int.Parse(name.AsSpan(folder.Length, 4)) != scripts.Count + 1)
            {
                throw new InvalidOperationException(
                    $"the schema's scripts are not numbered 1, 2, 3, ...: {name} is number {scripts.Count + 1}");
            }
            using var reader = new StreamReader(assembly.GetManifestResourceStream(name)!);
            scripts.Add(reader.ReadToEnd());
        }
        return scripts;
    }

    /// <param name="session">Holds a lock against other upgrades.</param>
    /// <param name="found">The database's version; 0 if it is empty.</param>
    /// <param name="other">Name, in errors, of the thing to replace if the database is newer than this program.</param>
    /// <param name="apply">Applies a script, and records its version.</param>
    public static async Task UpgradeAsync(
        ISqlSession session, IReadOnlyList<string> scripts, int found, string database, string other, Func<string, int, Task> apply)
    {
        if (found > scripts.Count)
        {
            throw new StoreMismatchException(
                $"database {database} has schema version {found}, this program knows up to {scripts.Count}: "
                + $"use the newer program, or another {other}");
        }
        const string OpenLoad = "SELECT MIN(id) FROM dbo.loads WHERE state NOT IN ('done', 'failed', 'held')";
        if (found > 0 && found < scripts.Count && await session.LoadAsync(OpenLoad) is { } open)
            throw Refusals.UpgradeOpen(database, open);
        for (var version = found + 1; version <= scripts.Count; version++)
            await apply(scripts[version - 1], version);
    }
}
