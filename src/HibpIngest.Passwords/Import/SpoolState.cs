namespace HibpIngest.Passwords.Import;

/// <summary>
/// The checkpoint of an import: written to its work folder once the first <c>SpoolLength</c> bytes of the spool, the temporary file with
/// the hashes by bucket, are on disk.
/// </summary>
/// <param name="Modes">Names of the modes, in the order of their buckets.</param>
/// <param name="SpoolLength">Bytes after this were written after the checkpoint.</param>
/// <param name="Directory">A serialized <see cref="SpoolDirectory"/>: where each bucket's hashes are in the spool.</param>
internal sealed record SpoolState(
    int Format, bool Plain, IReadOnlyList<string> Modes, IReadOnlyList<SpoolState.Input> Inputs, ImportPosition Position, bool IsComplete,
    long SpoolLength, byte[] Directory)
{
    public const int CurrentFormat = 1;

    /// <returns>Null if there is none. A damaged state is returned with a format other than <see cref="CurrentFormat"/>.</returns>
    public static SpoolState? Read(string file)
    {
        byte[] bytes;
        try
        {
            bytes = File.ReadAllBytes(file);
        }
        catch (FileNotFoundException)
        {
            return null;
        }
        try
        {
            if (JsonSerializer.Deserialize(bytes, ImportJson.Default.SpoolState) is { } state && state.HasAllMembers)
                return state;
        }
        catch (JsonException)
        {
            // A power failure may leave any content.
        }
        return new SpoolState(0, false, [], [], ImportPosition.Start, false, 0, []);
    }

    /// <summary>Replaces the previous state atomically, after flushing to disk.</summary>
    public void Write(string file)
    {
        var written = file + ".new";
        using (var stream = File.Create(written))
        {
            JsonSerializer.Serialize(stream, this, ImportJson.Default.SpoolState);
            stream.Flush(flushToDisk: true);
        }
        File.Move(written, file, overwrite: true);
    }

    public bool Matches(ImportOptions options, IReadOnlyList<ImportInput> inputs) =>
        Plain == options.Plain && Modes.SequenceEqual(options.Modes.Select(mode => mode.Name()))
        && Inputs.SequenceEqual(inputs.Select(Input.Of)) && Inputs.All(input => input.Version is not null);

    /// <summary>Returns a digest of what <see cref="Matches"/> compares.</summary>
    public static string SourceOf(ImportOptions options, IReadOnlyList<ImportInput> inputs)
    {
        var known = new SpoolState(
            CurrentFormat, options.Plain, [.. options.Modes.Select(mode => mode.Name())], [.. inputs.Select(Input.Of)],
            ImportPosition.Start, false, 0, []);
        var digest = SHA256.HashData(JsonSerializer.SerializeToUtf8Bytes(known, ImportJson.Default.SpoolState));
        return Convert.ToHexStringLower(digest.AsSpan(0, 8));
    }

    private bool HasAllMembers => Modes is not null && Inputs is not null && Position is not null && Directory is not null;

    internal sealed record Input(string Name, long? Length, string? Version)
    {
        public static Input Of(ImportInput input) => new(input.Name, input.Length, input.Version);
    }
}
