namespace HibpIngest.Benchmarks;

/// <summary>Runs a measurement in its own process: this program with other arguments, whose only output is the figures.</summary>
internal static class MeasuredChild
{
    /// <summary>Starts this program with other arguments.</summary>
    public static Process Start(params string[] args) => Process.Start(
        new ProcessStartInfo("dotnet", [typeof(MeasuredChild).Assembly.Location, .. args])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            UseShellExecute = false,
        })!;

    /// <summary>Runs the process, and returns its figures.</summary>
    public static async Task<double[]> RunAsync(params string[] args)
    {
        using var child = Start(args);
        var output = await child.StandardOutput.ReadToEndAsync();
        await child.WaitForExitAsync();
        return child.ExitCode == 0
            ? [.. output.Trim().Split(' ').Select(figure => double.Parse(figure, CultureInfo.InvariantCulture))]
            : throw new InvalidOperationException($"the measured process ended with {child.ExitCode}");
    }

    /// <summary>Prints the figures, in the measured process.</summary>
    public static void Report(params double[] figures) =>
        Console.WriteLine(string.Join(' ', figures.Select(figure => figure.ToString("R", CultureInfo.InvariantCulture))));

    /// <summary>Returns the peak memory of this process.</summary>
    public static double PeakMiB() => ProcessMemory.PeakMiB(Environment.ProcessId);
}
