namespace HibpIngest.Errors;

/// <summary>
/// Recognises a disk without space or a used-up quota: an IOException carries errno on Unix, the HRESULT of a Win32 code on Windows.
/// </summary>
public static class DiskFull
{
    private const int NoSpace = 28;
    private const int QuotaLinux = 122;
    private const int QuotaMac = 69;
    private const int WindowsDiskFull = unchecked((int)0x80070070);
    private const int WindowsHandleDiskFull = unchecked((int)0x80070027);

    public static bool Is(Exception error) => error is IOException
    {
        HResult: NoSpace or QuotaLinux or QuotaMac or WindowsDiskFull or WindowsHandleDiskFull,
    };
}
