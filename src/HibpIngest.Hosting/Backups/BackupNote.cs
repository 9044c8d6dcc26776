using System.Text.Json;
using System.Text.Json.Serialization;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Hosting.Backups;

/// <summary>What lies beside a backup of a database, as JSON: of what it is, and by what it is known to be whole.</summary>
/// <param name="Format">1.</param>
/// <param name="File">Name of the backup, in the same folder.</param>
/// <param name="Sha256">and its checksum, in hex.</param>
/// <param name="TakenAt">The moment that it is of.</param>
/// <param name="Program">Version of the program that made it.</param>
/// <param name="Highest">The highest ids in it.</param>
/// <param name="Confirmed">What the register had confirmed when it was made.</param>
public sealed record BackupNote(
    int Format, string File, long Bytes, string Sha256, DateTimeOffset TakenAt, string Program, Guid Store, int Schema, StoreIds Highest,
    StoreIds Confirmed)
{
    /// <summary>The only format so far.</summary>
    public const int CurrentFormat = 1;

    /// <summary>Of a backup that is not whole yet, or was broken off.</summary>
    internal const string PartSuffix = ".part";

    private const string Suffix = ".json";

    /// <summary>Where the note of a backup is.</summary>
    public static string PathOf(string backup) => backup + Suffix;

    /// <summary>The note of a backup, or of the newest in a folder, and the file.</summary>
    /// <exception cref="NotPossibleException">There is none.</exception>
    /// <exception cref="BadInputException">It can't be read.</exception>
    public static async Task<(BackupNote Note, string File)> FindAsync(string fileOrFolder, CancellationToken cancellationToken)
    {
        if (!Directory.Exists(fileOrFolder))
        {
            if (!System.IO.File.Exists(fileOrFolder))
                throw new NotPossibleException($"there is no backup '{fileOrFolder}'");
            return (await ReadAsync(fileOrFolder, cancellationToken), fileOrFolder);
        }
        var backups = Directory.GetFiles(fileOrFolder, "*" + Suffix).Select(note => note[..^Suffix.Length])
            .Where(backup => !backup.EndsWith(PartSuffix, StringComparison.Ordinal) && System.IO.File.Exists(backup)).ToList();
        var found = new List<(BackupNote Note, string File)>();
        foreach (var backup in backups)
            found.Add((await ReadAsync(backup, cancellationToken), backup));
        return found.Count > 0 ? found.MaxBy(one => one.Note.TakenAt)
            : throw new NotPossibleException($"there is no backup in folder '{fileOrFolder}': each is a file with its note beside it");
    }

    /// <summary>Writes it whole, or not at all.</summary>
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
            throw new NotPossibleException($"'{backup}' has no note '{path}', by which a backup is known to be whole: where it was made by "
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
            throw new BadInputException($"'{path}' is not the note of a backup: it can't be read", e);
        }
    }
}

/// <summary>Notes as JSON.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, WriteIndented = true)]
[JsonSerializable(typeof(BackupNote))]
internal sealed partial class BackupJson : JsonSerializerContext;
