namespace HibpIngest.Passwords.Releases;

internal sealed class StepProgress(IProgress<ImportStep>? progress, params long[] totals)
{
    private readonly long[] _rows = new long[totals.Length];

    public void Add(ImportStepKind step, long rows) =>
        progress?.Report(new ImportStep(step, Interlocked.Add(ref _rows[(int)step], rows), totals[(int)step]));
}

/// <summary>The progress of an import after reading.</summary>
/// <param name="Rows">Hashes processed in this step.</param>
/// <param name="RowsInAll">Hashes to process; an upper bound until duplicates are summed.</param>
public readonly record struct ImportStep(ImportStepKind Step, long Rows, long RowsInAll);

public enum ImportStepKind
{
    Write = 0,
    Verify = 1,
}
