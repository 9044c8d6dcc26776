using System.Diagnostics;
using System.Globalization;

namespace HibpIngest.Benchmarks;

/// <summary>A measured process of its own: this program again, whose last line has its figures.</summary>
internal static class MeasuredChild
{
    /// <summary>Runs it, and reads its figures.</summary>
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

    /// <summary>Says the figures, as the process itself.</summary>
    public static void Tell(params double[] figures) =>
        Console.WriteLine(string.Join(' ', figures.Select(figure => figure.ToString("R", CultureInfo.InvariantCulture))));

    /// <summary>What this process had in memory at most so far (VmHWM, the kernel's own count).</summary>
    public static double PeakMiB()
    {
        var peak = File.ReadLines("/proc/self/status")
            .First(line => line.StartsWith("VmHWM", StringComparison.Ordinal)).Split(' ', StringSplitOptions.RemoveEmptyEntries)[1];
        return double.Parse(peak, CultureInfo.InvariantCulture) / 1024;
    }
}
