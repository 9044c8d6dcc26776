namespace HibpIngest.Passwords.Import;

public sealed record ImportRequest
{
    /// <summary>The inputs, in order.</summary>
    public required IReadOnlyList<ImportInput> Inputs { get; init; }

    /// <summary>How the inputs are read, and with how much memory and disk.</summary>
    public required ImportOptions Options { get; init; }

    /// <summary>The back ends to write.</summary>
    public required IReadOnlyList<PasswordBackend> Into { get; init; }

    /// <summary>The release's name; null: the newest release if it has none of these modes, else a new one named by the date.</summary>
    public string? Release { get; init; }

    /// <summary>
    /// Called with the release's name once all parts are listed. The import ends only when this has completed: an import that is
    /// interrupted before calls it again. Null: nothing is called.
    /// </summary>
    public Func<string, CancellationToken, Task>? WhenListed { get; init; }
}

public sealed record ImportedPasswords(string Release, IReadOnlyList<ReleasePart> Parts, ImportSummary Read);
