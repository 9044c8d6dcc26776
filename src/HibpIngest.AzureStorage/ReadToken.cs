using Azure.Core;

namespace HibpIngest.AzureStorage;

/// <summary>
/// A token for requests that are made without the client libraries' pipeline, kept until shortly before its end: the credential
/// keeps it as well, but takes locks and makes objects to say so.
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

    /// <summary>It may have been taken back.</summary>
    public void Forget() => _kept = null;

    private sealed record Kept(string Header, DateTimeOffset ExpiresOn);
}
