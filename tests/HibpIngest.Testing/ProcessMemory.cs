namespace HibpIngest.Testing;

/// <summary>A process's resident memory by the kernel's count, in MiB.</summary>
internal static class ProcessMemory
{
    public static double MiB(int process) => Read($"{process}", "VmRSS:");

    public static double PeakMiB(int process) => Read($"{process}", "VmHWM:");

    /// <exception cref="IOException">The process has ended.</exception>
    private static double Read(string process, string name) => File.ReadLines($"/proc/{process}/status")
        .FirstOrDefault(line => line.StartsWith(name, StringComparison.Ordinal))?.Split(' ', StringSplitOptions.RemoveEmptyEntries)
        is [_, var kilobytes, ..] ? double.Parse(kilobytes) / 1024 : throw new IOException($"process {process} has ended");
}
