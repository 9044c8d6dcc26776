namespace HibpIngest.Passwords;

/// <summary>Where lines come from: a text, or a gzip or zip of texts, told apart by how it begins.</summary>
/// <param name="Name">For messages, and a part of what it is known by when an import goes on.</param>
/// <param name="Open">Opens it from its beginning; read synchronously, and disposed. Seekable, unless it is read once
/// only.</param>
public sealed record ImportInput(string Name, Func<Stream> Open)
{
    /// <summary>What the command line calls standard input.</summary>
    public const string StandardInputName = "-";

    /// <summary>In bytes; null where that isn't known.</summary>
    public long? Length { get; init; }

    /// <summary>
    /// Tells one state of its content from another (when it was changed, an ETag). Null: it can be read once only, so
    /// that an import of it that was interrupted begins again.
    /// </summary>
    public string? Version { get; init; }

    /// <summary>A file as it is now.</summary>
    /// <exception cref="HibpIngest.Errors.BadInputException">There is none.</exception>
    public static ImportInput File(string path)
    {
        var file = new FileInfo(path);
        if (!file.Exists)
            throw new Errors.BadInputException($"'{path}': expected a file, found none; check the path");
        // No buffer of its own: what reads it takes large blocks.
        return new ImportInput(path, () => new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 1))
        {
            Length = file.Length,
            Version = $"{file.FullName} {file.LastWriteTimeUtc.Ticks}",
        };
    }

    /// <summary>A text or a gzip that comes in once.</summary>
    public static ImportInput StandardInput(Stream input) => new(StandardInputName, () => input);
}
