namespace HibpIngest.Passwords.Releases;

/// <summary>The progress of an import after reading.</summary>
/// <param name="Rows">Hashes processed in this step.</param>
/// <param name="RowsInAll">Hashes to process; an upper bound until duplicates are summed.</param>
public readonly record struct ImportStep(ImportStepKind Step, long Rows, long RowsInAll);

public enum ImportStepKind
{
    Write = 0,

    Verify = 1,
}
