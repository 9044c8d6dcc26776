namespace HibpIngest.Storage.Azure.Connections;

/// <summary>
/// A token for requests made past the client libraries, cached until 5 minutes before it expires. The credential caches it too, but takes
/// locks and allocates on every call.
/// </summary>
internal sealed class ReadToken(TokenCredential credential, TimeProvider clock)
{
    private static readonly TokenRequestContext Scope = new(["https://storage.azure.com/.default"]);

    private static readonly TimeSpan RenewBefore = TimeSpan.FromMinutes(5);

    private volatile Token? _current;

    public async ValueTask<string> GetAsync(CancellationToken cancellationToken)
    {
        var current = _current;
        if (current is null || current.ExpiresOn - clock.GetUtcNow() < RenewBefore)
        {
            var token = await credential.GetTokenAsync(Scope, cancellationToken);
            _current = current = new Token($"Bearer {token.Token}", token.ExpiresOn);
        }
        return current.Header;
    }

    /// <summary>Called when the service rejects a request: the token may have been revoked.</summary>
    public void Forget() => _current = null;

    private sealed record Token(string Header, DateTimeOffset ExpiresOn);
}
