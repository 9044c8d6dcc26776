using System.Runtime.InteropServices;

namespace HibpIngest.Cli.Output;

/// <summary>
/// Detects that standard output is a pipe without a reader. Writes don't show it: the console drops what it can't write, without an error.
/// </summary>
internal static class OutputPipe
{
    private const int StandardOutput = 1;

    // Linux reports POLLERR for a pipe without a reader, macOS POLLHUP; both are reported even if not requested.
    private const short ErrorOrHangUp = 0x08 | 0x10;

    /// <summary>Always false on Windows.</summary>
    public static bool IsAbandoned
    {
        get
        {
            if (OperatingSystem.IsWindows() || !Console.IsOutputRedirected)
                return false;
            var output = new PollDescriptor { Descriptor = StandardOutput };
            return Poll(ref output, 1, timeoutMilliseconds: 0) > 0 && (output.Returned & ErrorOrHangUp) != 0;
        }
    }

    [DllImport("libc", EntryPoint = "poll")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Poll(ref PollDescriptor descriptors, nuint count, int timeoutMilliseconds);

    [StructLayout(LayoutKind.Sequential)]
    private struct PollDescriptor
    {
        public int Descriptor;
        public short Events;
        public short Returned;
    }
}
