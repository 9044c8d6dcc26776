namespace HibpIngest.Passwords.Import;

internal static class DiskFull
{
    private const int NoSpace = 28;
    private const int QuotaLinux = 122;
    private const int QuotaMac = 69;
    private const int WindowsDiskFull = unchecked((int)0x80070070);
    private const int WindowsHandleDiskFull = unchecked((int)0x80070027);

    public static bool Is(IOException e) => e.HResult is NoSpace or QuotaLinux or QuotaMac or WindowsDiskFull or WindowsHandleDiskFull;
}
