using HibpIngest.Errors;

namespace HibpIngest.Passwords;

/// <summary>What a release names is not there any more: another release may be served by now.</summary>
internal sealed class RangeGoneException(ReleaseKey release)
    : StoreUnavailableException($"passwords of release {release.Name} are gone, or were replaced");
