namespace HibpIngest.Journal.Files;

/// <summary>Maps file system exceptions to the pipeline's errors.</summary>
internal static class FileErrors
{
    private const int NoSpace = 28;
    private const int QuotaLinux = 122;
    private const int QuotaMac = 69;
    private const int WindowsDiskFull = unchecked((int)0x80070070);
    private const int WindowsHandleDiskFull = unchecked((int)0x80070027);

    public static bool Is(Exception error) => error is IOException or UnauthorizedAccessException;

    public static HibpException Map(Exception error, string operation) => error switch
    {
        IOException { HResult: NoSpace or QuotaLinux or QuotaMac or WindowsDiskFull or WindowsHandleDiskFull } =>
            new StoreFullException($"{operation} failed: no room is left on the disk; make some"),
        UnauthorizedAccessException =>
            new StoreRefusedException($"{operation} failed: this user may not do that in the folder; give it the right to"),
        _ => new StoreUnavailableException($"{operation} failed: {error.GetType().Name} ({error.HResult})"),
    };
}
