namespace HibpIngest.Passwords.Import.Drops;

/// <summary>A dropped file was replaced or deleted while this version of it was being read (If-Match failed).</summary>
internal sealed class FileReplacedException()
    : HibpException("a dropped file was replaced or deleted while it was being read; what is there now is imported anew");
