using System.Runtime.InteropServices;

namespace HibpIngest.Cli.Output;

/// <summary>
/// Standard output where it is a pipe. Writing to it doesn't tell that nobody reads any more: the console drops
/// what can't be written, without an error.
/// </summary>
internal static class OutputPipe
{
    private const int StandardOutput = 1;

    /// <summary>Linux says POLLERR of a pipe without a reader, macOS POLLHUP; both are told without being asked for.</summary>
    private const short ErrorOrHangUp = 0x08 | 0x10;

    /// <summary>Whether there was a reader who is gone. Not known on Windows.</summary>
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
