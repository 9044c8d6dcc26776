using System.Diagnostics;
using System.Globalization;

namespace HibpIngest.Benchmarks;

/// <summary>Runs a measurement in a process of its own: this program again, whose last line contains the figures.</summary>
internal static class MeasuredChild
{
    /// <summary>Runs the process, and returns its figures.</summary>
    public static async Task<double[]> RunAsync(params string[] args)
    {
        using var child = Process.Start(new ProcessStartInfo("dotnet", [typeof(MeasuredChild).Assembly.Location, .. args])
        {
            RedirectStandardOutput = true,
            UseShellExecute = false,
        })!;
        var output = await child.StandardOutput.ReadToEndAsync();
        await child.WaitForExitAsync();
        if (child.ExitCode != 0)
            throw new InvalidOperationException($"the measured process ended with {child.ExitCode}");
        return [.. output.Trim().Split(' ').Select(figure => double.Parse(figure, CultureInfo.InvariantCulture))];
    }

    /// <summary>Prints the figures, in the measured process.</summary>
    public static void Tell(params double[] figures) =>
        Console.WriteLine(string.Join(' ', figures.Select(figure => figure.ToString("R", CultureInfo.InvariantCulture))));

    /// <summary>Returns the peak resident memory of this process (VmHWM, counted by the kernel).</summary>
    public static double PeakMiB()
    {
        var peak = File.ReadLines("/proc/self/status")
            .First(line => line.StartsWith("VmHWM", StringComparison.Ordinal)).Split(' ', StringSplitOptions.RemoveEmptyEntries)[1];
        return double.Parse(peak, CultureInfo.InvariantCulture) / 1024;
    }
}
