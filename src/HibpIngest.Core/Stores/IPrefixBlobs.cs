using HibpIngest.Clients;

namespace HibpIngest.Stores;

/// <summary>
/// The prefixes that clients watch: a blob of 2 MB each, <see cref="PrefixBitmap"/>'s bytes. Errors as for
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPrefixBlobs
{
    const string Container = "clients";

    /// <summary>Creates the container where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>What a client watches; null where it has never watched anything.</summary>
    /// <param name="known">Given back where it is still this.</param>
    Task<PrefixBlob?> ReadAsync(int client, CancellationToken cancellationToken, PrefixBlob? known = null);

    /// <summary>Writes what a client watches, where it still is the version that was read.</summary>
    /// <param name="version">What was read; null: there was none.</param>
    /// <param name="cancellationToken">Stops it; then it is not known whether it was written.</param>
    /// <returns>The version it is then; null where somebody else has written.</returns>
    Task<string?> WriteAsync(int client, PrefixBitmap prefixes, string? version, CancellationToken cancellationToken);

    /// <summary>Forgets what a client watches.</summary>
    Task DeleteAsync(int client, CancellationToken cancellationToken);
}

public sealed record PrefixBlob(string Version, PrefixBitmap Prefixes);
