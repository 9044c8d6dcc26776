namespace HibpIngest;

/// <summary>The keys of an installation. Disposing it disposes them.</summary>
/// <param name="Secret">Encrypt secrets in the stores; null: not configured.</param>
/// <param name="Suppression">Hashes the addresses that get no mail; null: not configured.</param>
public sealed record InstallationKeys(SecretKeys? Secret, SuppressionKey? Suppression) : IDisposable
{
    public void Dispose() => Secret?.Dispose();
}
