namespace HibpIngest.Passwords.Import;

/// <summary>A source of lines: a text, or a gzip or zip of texts, recognised by its first bytes.</summary>
/// <param name="Name">Used in messages, and to recognise the input when an import resumes.</param>
/// <param name="Open">Opens the input at its beginning; the stream is read synchronously and disposed. It must be seekable, unless it can
/// be read only once.</param>
public sealed record ImportInput(string Name, Func<Stream> Open)
{
    /// <summary>The name of standard input on the command line.</summary>
    public const string StandardInputName = "-";

    /// <summary>Length in bytes; null if unknown.</summary>
    public long? Length { get; init; }

    /// <summary>
    /// Identifies a state of the content (modification time, ETag). Null: it can be read only once, so an interrupted import of it starts
    /// again.
    /// </summary>
    public string? Version { get; init; }

    /// <summary>Returns a file as it is now.</summary>
    /// <exception cref="HibpIngest.Errors.BadInputException">The file doesn't exist.</exception>
    public static ImportInput File(string path)
    {
        var file = new FileInfo(path);
        if (!file.Exists)
            throw new Errors.BadInputException($"'{path}': expected a file, found none; check the path");
        // No buffer: it is read in large blocks.
        return new ImportInput(path, () => new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 1))
        {
            Length = file.Length,
            Version = $"{file.FullName} {file.LastWriteTimeUtc.Ticks}",
        };
    }

    /// <summary>Returns a text or a gzip that can be read only once.</summary>
    public static ImportInput StandardInput(Stream input) => new(StandardInputName, () => input);
}
