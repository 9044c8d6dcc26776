namespace HibpIngest.Testing;

/// <summary>The CPU time that a process has used since this was created.</summary>
internal sealed class ProcessCpu(int id)
{
    private readonly double _before = Of(id);

    public double Seconds => Of(id) - _before;

    private static double Of(int id)
    {
        using var process = Process.GetProcessById(id);
        return process.TotalProcessorTime.TotalSeconds;
    }
}
