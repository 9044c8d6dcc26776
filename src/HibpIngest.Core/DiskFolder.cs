using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;

namespace HibpIngest;

/// <summary>
/// A folder's entries on their way to the disk: without it, a file that is there whole may have no name after a power cut
/// (fsync(2)). .NET opens no folders.
/// </summary>
public static class DiskFolder
{
    private const int Exists = 17; // EEXIST, on Linux and macOS

    /// <summary>
    /// Gives a file a name that nobody has (link(2)), of many who try it at once to one; false: somebody has it. What .NET's move does
    /// where it is not to overwrite is to look, and then to rename.
    /// </summary>
    /// <param name="file">The file; on Unix it keeps its other name, too.</param>
    /// <exception cref="IOException">It can't be given.</exception>
    public static bool TryName(string file, string path)
    {
        if (OperatingSystem.IsWindows())
        {
            try
            {
                File.Move(file, path, overwrite: false);
                return true;
            }
            catch (IOException) when (File.Exists(path))
            {
                return false;
            }
        }
        if (Link(file, path) == 0)
            return true;
        var error = Marshal.GetLastPInvokeError();
        return error == Exists ? false : throw new IOException("a file can't be given its name", error);
    }

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

    [DllImport("libc", EntryPoint = "link", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    [SuppressMessage("Globalization", "CA2101:Specify marshaling for P/Invoke string arguments", Justification = "it is specified")]
    private static extern int Link(
        [MarshalAs(UnmanagedType.LPUTF8Str)] string file, [MarshalAs(UnmanagedType.LPUTF8Str)] string name);

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
