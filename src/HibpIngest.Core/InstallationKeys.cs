namespace HibpIngest;

/// <summary>The keys of an installation. Disposing it disposes of them.</summary>
/// <param name="Secret">Seal what is kept secret in the stores; null: there are none.</param>
/// <param name="Suppression">What those who are not to be told are known by; null: there is none.</param>
public sealed record InstallationKeys(SecretKeys? Secret, SuppressionKey? Suppression) : IDisposable
{
    /// <inheritdoc/>
    public void Dispose() => Secret?.Dispose();
}
