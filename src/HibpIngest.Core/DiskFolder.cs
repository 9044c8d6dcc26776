using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;

[assembly: DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]

namespace HibpIngest;

/// <summary>
/// Flushes a folder's entries to disk, and names files exclusively. Without the flush, a complete file may have no name after a power cut
/// (fsync(2)). .NET can't open folders.
/// </summary>
public static class DiskFolder
{
    private const int Exists = 17; // EEXIST, on Linux and macOS

    /// <summary>
    /// Gives a file a new name only if no file has it (link(2)); exactly one of several concurrent callers succeeds. File.Move without
    /// overwrite checks first and renames afterwards.
    /// </summary>
    /// <param name="file">The file; on Unix it keeps its old name too.</param>
    /// <returns>False if the name is taken.</returns>
    /// <exception cref="IOException">The name can't be assigned.</exception>
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
        return error == Exists ? false : throw new IOException(
            $"'{path}' can't be linked to its temporary file (error {error}): the file system must support hard links", error);
    }

    /// <summary>Does nothing on Windows, which writes entries through with the file.</summary>
    public static void Flush(string path)
    {
        if (OperatingSystem.IsWindows())
            return;
        var folder = Open(path, 0);
        if (folder < 0)
            throw new IOException($"folder '{path}' can't be opened", Marshal.GetLastPInvokeError());
        try
        {
            if (Flush(folder) != 0)
                throw new IOException($"folder '{path}' can't be written to the disk", Marshal.GetLastPInvokeError());
        }
        finally
        {
            _ = Close(folder);
        }
    }

    [DllImport("libc", EntryPoint = "link", SetLastError = true)]
    [SuppressMessage("Globalization", "CA2101:Specify marshaling for P/Invoke string arguments", Justification = "it is specified")]
    private static extern int Link(
        [MarshalAs(UnmanagedType.LPUTF8Str)] string file, [MarshalAs(UnmanagedType.LPUTF8Str)] string name);

    [DllImport("libc", EntryPoint = "open", SetLastError = true)]
    [SuppressMessage("Globalization", "CA2101:Specify marshaling for P/Invoke string arguments", Justification = "it is specified")]
    private static extern int Open([MarshalAs(UnmanagedType.LPUTF8Str)] string path, int flags);

    [DllImport("libc", EntryPoint = "fsync", SetLastError = true)]
    private static extern int Flush(int file);

    [DllImport("libc", EntryPoint = "close")]
    private static extern int Close(int file);
}
