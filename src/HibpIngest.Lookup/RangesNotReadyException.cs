using HibpIngest.Errors;

namespace HibpIngest.Lookup;

/// <summary>Not every account is in the table of hashes yet: an answer from it could say "clean" of somebody who is not.</summary>
public sealed class RangesNotReadyException()
    : HibpException("the table of hashes doesn't hold every account yet: 'hibp ranges fill' adds them");
