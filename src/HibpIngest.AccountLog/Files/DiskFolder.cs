using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;

namespace HibpIngest.AccountLog;

/// <summary>
/// A folder's entries on their way to the disk: without it, a file that is there whole may have no name after a power cut
/// (fsync(2)). .NET opens no folders.
/// </summary>
internal static class DiskFolder
{
    /// <summary>Does nothing on Windows, which writes entries through with the file.</summary>
    public static void Flush(string path)
    {
        if (OperatingSystem.IsWindows())
            return;
        var folder = Open(path, 0);
        if (folder < 0)
            throw new IOException("a folder can't be opened", Marshal.GetLastPInvokeError());
        try
        {
            if (Flush(folder) != 0)
                throw new IOException("a folder can't be written to the disk", Marshal.GetLastPInvokeError());
        }
        finally
        {
            _ = Close(folder);
        }
    }

    [DllImport("libc", EntryPoint = "open", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    [SuppressMessage("Globalization", "CA2101:Specify marshaling for P/Invoke string arguments", Justification = "it is specified")]
    private static extern int Open([MarshalAs(UnmanagedType.LPUTF8Str)] string path, int flags);

    [DllImport("libc", EntryPoint = "fsync", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Flush(int file);

    [DllImport("libc", EntryPoint = "close")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Close(int file);
}
