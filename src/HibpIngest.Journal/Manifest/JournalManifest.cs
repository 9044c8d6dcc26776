using System.Text.Json.Serialization.Metadata;

namespace HibpIngest.Journal.Manifest;

/// <summary>The loads in the journal and which of them count, from one listing and the newest document of each.</summary>
public sealed class JournalManifest
{
    private JournalManifest(IReadOnlyList<JournaledLoad> loads) => Loads = loads;

    /// <summary>All loads, counting or not, by the name of their folder, which begins with the load's number.</summary>
    public IReadOnlyList<JournaledLoad> Loads { get; }

    public IEnumerable<JournaledLoad> Counting => Loads.Where(load => load.State == JournaledState.Counts);

    /// <param name="tolerant">
    /// True if an unreadable document sets <see cref="JournaledLoad.Fault"/>, and an older one of the load is used, instead of throwing.
    /// </param>
    /// <exception cref="BadInputException">A document is invalid, or was written by a newer program.</exception>
    public static async Task<JournalManifest> ReadAsync(
        IJournalBlobs blobs, CancellationToken cancellationToken, bool tolerant = false)
    {
        var found = new List<JournaledLoad>();
        // Other blobs in the container are ignored.
        var files = await blobs.ListAsync("", cancellationToken).Where(blob => JournalNames.FolderOf(blob.Name) is not null)
            .ToListAsync(cancellationToken);
        foreach (var folder in files.GroupBy(blob => JournalNames.FolderOf(blob.Name)!))
            found.Add(await ReadLoadAsync(blobs, folder.Key, [.. folder], tolerant, cancellationToken));
        // A replaced load no longer counts, even if its replacement was removed.
        var replaced = found.SelectMany(load => load.Replaces).ToHashSet();
        return new JournalManifest(
            [.. found.Select(load => load.State == JournaledState.Counts && replaced.Contains(load.Document!.Load)
                ? load with { State = JournaledState.Replaced } : load)]);
    }

    /// <returns>Null if the folder is empty.</returns>
    /// <exception cref="BadInputException">A document is invalid.</exception>
    public static async Task<JournaledLoad?> FindAsync(IJournalBlobs blobs, string folder, CancellationToken cancellationToken)
    {
        var files = await blobs.ListAsync(folder, cancellationToken).ToListAsync(cancellationToken);
        return files.Count == 0 ? null : await ReadLoadAsync(blobs, folder, files, tolerant: false, cancellationToken);
    }

    private static async Task<JournaledLoad> ReadLoadAsync(
        IJournalBlobs blobs, string folder, IReadOnlyList<JournalBlob> files, bool tolerant, CancellationToken cancellationToken)
    {
        var load = new JournaledLoad
        {
            Folder = folder,
            Blobs = files,
            Document = null,
            Removal = null,
            State = files.Any(blob => blob.Name == folder + JournalNames.Removed) ? JournaledState.Removed : JournaledState.Begun,
        };
        foreach (var (name, version) in files
            .Select(blob => (blob.Name, Version: JournalNames.VersionOf(blob.Name[folder.Length..])))
            .Where(blob => blob.Version is not null).OrderByDescending(blob => blob.Version))
        {
            try
            {
                var document = await ReadAsync(
                    blobs, name, JournalJson.Default.JournalLoadDocument, one => one.Format, one => one.FindFault(), cancellationToken);
                load = load with
                {
                    Document = document,
                    State = load.State == JournaledState.Removed || document is null ? load.State : JournaledState.Counts,
                };
                break;
            }
            catch (BadInputException e) when (tolerant)
            {
                load = load with { Fault = load.Fault ?? e.Message, FaultVersion = Math.Max(load.FaultVersion, version!.Value) };
            }
        }
        if (load.State != JournaledState.Removed)
            return load;
        try
        {
            return load with
            {
                Removal = await ReadAsync(
                    blobs, folder + JournalNames.Removed, JournalJson.Default.RemovedDocument, one => one.Format, one => one.FindFault(),
                    cancellationToken),
            };
        }
        catch (BadInputException e) when (tolerant)
        {
            return load with { Fault = e.Message };
        }
    }

    private static async Task<T?> ReadAsync<T>(
        IJournalBlobs blobs, string name, JsonTypeInfo<T> form, Func<T, int> format, Func<T, string?> findFault,
        CancellationToken cancellationToken)
        where T : class
    {
        if (await blobs.FindAsync(name, cancellationToken) is not { } length
            || await blobs.OpenAsync(name, 0, length, cancellationToken) is not { } content)
        {
            return null; // deleted since the listing: the load is being removed
        }
        await using (content)
        {
            if (length > DocumentLimits.MaxBytes)
            {
                throw new BadInputException(
                    $"'{name}' of the journal has {length} bytes, expected at most {DocumentLimits.MaxBytes}: restore it "
                    + "from a backup or a version of the blob");
            }
            T? document;
            try
            {
                document = await JsonSerializer.DeserializeAsync(content, form, cancellationToken);
            }
            catch (JsonException e)
            {
                throw new BadInputException(
                    $"'{name}' of the journal is not a valid document (byte {e.BytePositionInLine ?? 0} of line "
                    + $"{(e.LineNumber ?? 0) + 1}): restore it from a backup or a version of the blob", e);
            }
            if (document is null || format(document) != JournalLoadDocument.CurrentFormat)
            {
                throw new BadInputException($"'{name}' of the journal has format {(document is null ? "none" : format(document))}, "
                    + $"this program knows {JournalLoadDocument.CurrentFormat}: use the newer program");
            }
            return findFault(document) is not { } fault ? document
                : throw new BadInputException(
                    $"'{name}' of the journal has {fault}: restore it from a backup or a version of the blob");
        }
    }
}

public sealed record JournaledLoad
{
    /// <summary>Prefix of its blobs, with the slash at the end.</summary>
    public required string Folder { get; init; }

    public required IReadOnlyList<JournalBlob> Blobs { get; init; }

    /// <summary>The newest document. Null if none has been written.</summary>
    public required JournalLoadDocument? Document { get; init; }

    /// <summary>The document of its removal. Null if the load wasn't removed, or its document was deleted since the listing.</summary>
    public required RemovedDocument? Removal { get; init; }

    public required JournaledState State { get; init; }

    /// <summary>Why the newest document can't be read. Null if it can, or there is none.</summary>
    public string? Fault { get; init; }

    /// <summary>The version in the name of the unreadable document.</summary>
    public long FaultVersion { get; init; }

    public long Bytes => Blobs.Sum(blob => blob.Length);

    internal IReadOnlyList<long> Replaces => [.. Document?.Replaces ?? [], .. Removal?.Replaces ?? []];
}

/// <summary>State of a load in the journal.</summary>
public enum JournaledState
{
    /// <summary>Part of every table that is built from the journal.</summary>
    Counts,

    /// <summary>There are segments but no document: the load is being written, or failed.</summary>
    Begun,

    Replaced,

    Removed,
}
