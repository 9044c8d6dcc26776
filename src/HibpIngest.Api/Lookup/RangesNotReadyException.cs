namespace HibpIngest.Api.Lookup;

/// <summary>The table of hashes doesn't hold every account yet, so a response from it could report a breached account as clean.</summary>
public sealed class RangesNotReadyException()
    : HibpException("the table of hashes doesn't hold every account yet: 'hibp ranges fill' adds them");
