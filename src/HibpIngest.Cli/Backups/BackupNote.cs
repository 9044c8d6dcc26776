using System.Text.Json.Serialization;

namespace HibpIngest.Cli.Backups;

/// <summary>The note next to a backup of a database, as JSON: identifies the store and verifies that the backup is complete.</summary>
/// <param name="File">Name of the backup, in the same folder.</param>
/// <param name="TakenAt">The time at which the backup began; the copied state is no older.</param>
/// <param name="Confirmed">The ids that the register had confirmed when the backup was made.</param>
internal sealed record BackupNote(
    int Format, string File, long Bytes, string Sha256, DateTimeOffset TakenAt, string Program, Guid Store, int Schema, StoreIds Highest,
    StoreIds Confirmed)
{
    public const int CurrentFormat = 1;

    /// <summary>Suffix of a backup that is in progress or was interrupted.</summary>
    internal const string PartSuffix = ".part";

    private const string Suffix = ".json";

    public static string PathOf(string backup) => backup + Suffix;

    public static async Task<(BackupNote Note, string File)> FindAsync(string fileOrFolder, CancellationToken cancellationToken)
    {
        if (!Directory.Exists(fileOrFolder))
        {
            if (!System.IO.File.Exists(fileOrFolder))
                throw new NotPossibleException($"'{fileOrFolder}' does not exist: give a backup file, or a folder of backups");
            return (await ReadAsync(fileOrFolder, cancellationToken), fileOrFolder);
        }
        var backups = Directory.GetFiles(fileOrFolder, "*" + Suffix).Select(note => note[..^Suffix.Length])
            .Where(backup => !backup.EndsWith(PartSuffix, StringComparison.Ordinal) && System.IO.File.Exists(backup));
        var found = new List<(BackupNote Note, string File)>();
        foreach (var backup in backups)
            found.Add((await ReadAsync(backup, cancellationToken), backup));
        return found.Count > 0 ? found.MaxBy(backup => backup.Note.TakenAt)
            : throw new NotPossibleException($"there is no backup in folder '{fileOrFolder}': a backup is a file with its note next to it");
    }

    internal async Task WriteAsync(string path, CancellationToken cancellationToken)
    {
        await using var file = FileCopy.Create(path);
        await JsonSerializer.SerializeAsync(file, this, BackupJson.Default.BackupNote, cancellationToken);
        file.Flush(flushToDisk: true);
    }

    private static async Task<BackupNote> ReadAsync(string backup, CancellationToken cancellationToken)
    {
        var path = PathOf(backup);
        if (!System.IO.File.Exists(path))
        {
            throw new NotPossibleException($"'{backup}' has no note '{path}', which proves a backup complete: if it was made by "
                + "other means, put it in the database's place, and run 'hibp database restored'");
        }
        try
        {
            await using var file = System.IO.File.OpenRead(path);
            var note = await JsonSerializer.DeserializeAsync(file, BackupJson.Default.BackupNote, cancellationToken);
            if (note is { Format: CurrentFormat, Highest: not null, Confirmed: not null, Sha256: not null })
                return note;
            throw new BadInputException($"'{path}' is of format {note?.Format}, this program reads {CurrentFormat}: use the program that "
                + $"made it ({note?.Program})");
        }
        catch (JsonException e)
        {
            throw new BadInputException($"'{path}': expected the JSON note of a backup, found other content; use another backup", e);
        }
    }
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, WriteIndented = true)]
[JsonSerializable(typeof(BackupNote))]
internal sealed partial class BackupJson : JsonSerializerContext;
