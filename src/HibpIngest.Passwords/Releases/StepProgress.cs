namespace HibpIngest.Passwords.Releases;

/// <summary>Adds up the progress of each step, and reports it.</summary>
/// <param name="told">Receives the progress; null: it is not reported.</param>
/// <param name="inAll">The total rows of each step.</param>
internal sealed class StepProgress(IProgress<ImportStep>? told, params long[] inAll)
{
    private readonly long[] _rows = new long[inAll.Length];

    public void Add(ImportStepKind step, long rows) =>
        told?.Report(new ImportStep(step, Interlocked.Add(ref _rows[(int)step], rows), inAll[(int)step]));
}
