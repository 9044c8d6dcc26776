using HibpIngest.Clients;

namespace HibpIngest.Stores;

/// <summary>
/// The prefixes that clients watch: one blob of 2 MB each, with the bytes of a <see cref="PrefixBitmap"/>. Errors are those of
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPrefixBlobs
{
    const string Container = "clients";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <param name="known">Returned if it is still current.</param>
    /// <returns>Null if the client has never watched anything.</returns>
    Task<PrefixBlob?> ReadAsync(int client, CancellationToken cancellationToken, PrefixBlob? known = null);

    /// <summary>
    /// Replaces the version of a client's prefixes that was read. After cancellation it is unknown whether they were written.
    /// </summary>
    /// <param name="version">The version that was read; null if there was none.</param>
    /// <returns>The new version; null if another writer came first.</returns>
    Task<string?> WriteAsync(int client, PrefixBitmap prefixes, string? version, CancellationToken cancellationToken);
    Task DeleteAsync(int client, CancellationToken cancellationToken);
}

public sealed record PrefixBlob(string Version, PrefixBitmap Prefixes);
