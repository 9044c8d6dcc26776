namespace HibpIngest;

/// <summary>The keys of an installation. Disposing it disposes of them.</summary>
/// <param name="Secret">Encrypt what is secret in the stores; null: there are none.</param>
/// <param name="Suppression">Hashes the addresses that get no mail; null: there is none.</param>
public sealed record InstallationKeys(SecretKeys? Secret, SuppressionKey? Suppression) : IDisposable
{
    public void Dispose() => Secret?.Dispose();
}
