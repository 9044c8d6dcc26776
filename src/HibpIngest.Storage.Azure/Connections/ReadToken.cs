using Azure.Core;

namespace HibpIngest.Storage.Azure.Connections;

/// <summary>
/// A token for requests made past the client libraries, cached until 5 minutes before it expires. The credential caches it too, but takes
/// locks and allocates on every call.
/// </summary>
internal sealed class ReadToken(TokenCredential credential, TimeProvider clock)
{
    private static readonly TokenRequestContext Scope = new(["https://storage.azure.com/.default"]);

    private static readonly TimeSpan RenewBefore = TimeSpan.FromMinutes(5);

    private volatile Kept? _kept;

    public async ValueTask<string> GetAsync(CancellationToken cancellationToken)
    {
        var kept = _kept;
        if (kept is null || kept.ExpiresOn - clock.GetUtcNow() < RenewBefore)
        {
            var token = await credential.GetTokenAsync(Scope, cancellationToken);
            _kept = kept = new Kept($"Bearer {token.Token}", token.ExpiresOn);
        }
        return kept.Header;
    }

    /// <summary>Called when the service rejects a request: the token may have been revoked.</summary>
    public void Forget() => _kept = null;

    private sealed record Kept(string Header, DateTimeOffset ExpiresOn);
}
