namespace HibpIngest.Passwords.Releases;

/// <summary>A blob or row that a release names no longer exists: another release may be served by now.</summary>
internal sealed class RangeMissingException(ReleaseKey release)
    : StoreUnavailableException($"passwords of release {release.Name} are gone, or were replaced");
