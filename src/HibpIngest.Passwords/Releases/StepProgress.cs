namespace HibpIngest.Passwords;

/// <summary>Adds up how far the steps of something are, and tells it.</summary>
/// <param name="told">Who is told; null: nobody.</param>
/// <param name="inAll">What each step has to do.</param>
internal sealed class StepProgress(IProgress<ImportStep>? told, params long[] inAll)
{
    private readonly long[] _rows = new long[inAll.Length];

    public void Add(ImportStepKind step, long rows) =>
        told?.Report(new ImportStep(step, Interlocked.Add(ref _rows[(int)step], rows), inAll[(int)step]));
}
