namespace HibpIngest.Passwords;

public sealed record ImportRequest
{
    /// <summary>Files, in order.</summary>
    public required IReadOnlyList<ImportInput> Inputs { get; init; }

    /// <summary>How they are read, and with how much memory and room on the disk.</summary>
    public required ImportOptions Options { get; init; }

    /// <summary>The back ends that it is written into.</summary>
    public required IReadOnlyList<PasswordBackend> Into { get; init; }

    /// <summary>The release's name; null: the newest, where it has none of these modes, else a new one, named by the date.</summary>
    public string? Release { get; init; }

    /// <summary>
    /// Called with the release's name once all of it is listed; the import has ended only when this has, so that an import which is
    /// broken off before comes to it again. Null: nothing is to be done.
    /// </summary>
    public Func<string, CancellationToken, Task>? WhenListed { get; init; }
}

public sealed record ImportedPasswords(string Release, IReadOnlyList<ReleasePart> Parts, ImportSummary Read);

/// <summary>How far an import is, once everything is read.</summary>
/// <param name="Rows">Hashes done in this step.</param>
/// <param name="RowsInAll">Hashes that it has to do, or, before they are summed, at most.</param>
public readonly record struct ImportStep(ImportStepKind Step, long Rows, long RowsInAll);

public enum ImportStepKind
{
    Write = 0,

    Verify = 1,
}
