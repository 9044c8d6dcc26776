namespace HibpIngest.Errors;

/// <summary>The blob was replaced or deleted while this version of it was being read (If-Match failed): its load is superseded.</summary>
public sealed class BlobSupersededException(string blob)
    : BadInputException($"blob '{blob}' was replaced or deleted while it was being read; the new version makes a load of its own");
