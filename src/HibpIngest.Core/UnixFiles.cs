using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;

namespace HibpIngest;

/// <summary>
/// Sets default permissions and ownership, for which .NET has no API: it sets the mode of one file at a time, and no owner. Does nothing on
/// Windows.
/// </summary>
public static class UnixFiles
{
    private const UnixFileMode OthersMode = UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.GroupExecute
        | UnixFileMode.OtherRead | UnixFileMode.OtherWrite | UnixFileMode.OtherExecute;

    // struct statx is the same on every architecture (linux/stat.h); struct stat is not.
    private const int StatxBytes = 256;
    private const int StatxUserOffset = 20;
    private const int StatxGroupOffset = 24;
    private const uint StatxUserAndGroup = 0x18;
    private const int CurrentFolder = -100; // AT_FDCWD

    /// <summary>
    /// Makes this process and all its child processes create files as 0600 and folders as 0700 (umask(2)): SQLite's files next to the
    /// database and the emulator's files are not created by our code.
    /// </summary>
    public static void CreatePrivately()
    {
        if (!OperatingSystem.IsWindows())
            _ = Umask(Umask((int)OthersMode) | (int)OthersMode);
    }

    /// <summary>Returns whether users other than the owner have any permission on a file or folder; false if it doesn't exist.</summary>
    public static bool IsOpenToOthers(string path) =>
        !OperatingSystem.IsWindows() && Path.Exists(path) && (File.GetUnixFileMode(path) & OthersMode) != UnixFileMode.None;

    /// <summary>
    /// Changes a file's owner and group to those of another file or folder, so that a service can still read a file that root has replaced.
    /// Does nothing unless run as root on Linux.
    /// </summary>
    /// <exception cref="NotPossibleException">The owner can't be read or set.</exception>
    public static void CopyOwner(string from, string to)
    {
        if (!OperatingSystem.IsLinux() || !Environment.IsPrivilegedProcess)
            return;
        var status = new byte[StatxBytes];
        if (Statx(CurrentFolder, from, 0, StatxUserAndGroup, status) != 0
            || Chown(to, BitConverter.ToUInt32(status, StatxUserOffset), BitConverter.ToUInt32(status, StatxGroupOffset)) != 0)
        {
            throw new NotPossibleException(
                $"can't change the owner of '{to}' to that of '{from}' (errno {Marshal.GetLastPInvokeError()}): run the command as that "
                + "user");
        }
    }

    [DllImport("libc", EntryPoint = "umask")]
    private static extern int Umask(int mask);

    [DllImport("libc", EntryPoint = "statx", SetLastError = true)]
    [SuppressMessage("Globalization", "CA2101:Specify marshaling for P/Invoke string arguments", Justification = "it is specified")]
    private static extern int Statx(
        int folder, [MarshalAs(UnmanagedType.LPUTF8Str)] string path, int flags, uint mask, [Out] byte[] status);

    [DllImport("libc", EntryPoint = "chown", SetLastError = true)]
    [SuppressMessage("Globalization", "CA2101:Specify marshaling for P/Invoke string arguments", Justification = "it is specified")]
    private static extern int Chown([MarshalAs(UnmanagedType.LPUTF8Str)] string path, uint user, uint group);
}
