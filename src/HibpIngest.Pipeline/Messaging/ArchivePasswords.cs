using System.Collections.Concurrent;

namespace HibpIngest.Pipeline.Messaging;

/// <summary>
/// Keeps the password of an encrypted archive for its ingest: in SQL, sealed under HIBP_SECRET_KEY (<see cref="SecretKeys"/>) and bound to
/// the blob version; or, without a key, only in the memory of this process. Deleted when the ingest ends, with any outcome. Before the
/// upload, when the ETag isn't known yet, the password is kept under an empty ETag.
/// </summary>
public sealed class ArchivePasswords(ILoads loads, InstallationKeys keys)
{
    private readonly SecretKeys? _keys = keys.Secret;
    private readonly ConcurrentDictionary<BlobVersion, string> _inMemory = new();

    public bool Durable => _keys is not null;

    /// <summary>Refuses a password for a file that isn't a zip: no other format is encrypted.</summary>
    public static void CheckTakesOne(string blob)
    {
        if (BreachFiles.FormatOf(blob) is not BreachFormat.Zip)
        {
            throw new BadInputException(
                $"a password opens the entries of a zip, and '{blob}' is not one: leave it out, or drop the encrypted zip itself");
        }
    }

    public async Task PutAsync(BlobVersion blob, string password, CancellationToken cancellationToken)
    {
        CheckTakesOne(blob.Name);
        if (_keys is null)
        {
            _inMemory[blob] = password;
            return;
        }
        await loads.PutPasswordAsync(blob, _keys.Seal(Encoding.UTF8.GetBytes(password), Context(blob)), cancellationToken);
    }

    /// <summary>Keeps the password of an archive for the ingest, which may run in another process.</summary>
    /// <exception cref="BadInputException">HIBP_SECRET_KEY isn't set: the password would not leave this process.</exception>
    public async Task KeepAsync(BlobVersion blob, string password, CancellationToken cancellationToken)
    {
        CheckTakesOne(blob.Name);
        if (!Durable)
        {
            throw new BadInputException("the password can only be stored under HIBP_SECRET_KEY, which is not set: create a key "
                + "with 'openssl rand -base64 32' and set it here and where 'hibp run' runs");
        }
        await PutAsync(blob, password, cancellationToken);
    }

    /// <summary>Moves the password kept for the coming version to <paramref name="blob"/>, once the upload has returned its ETag.</summary>
    public async Task SettleAsync(BlobVersion blob, string password, CancellationToken cancellationToken)
    {
        // If its load has finished copying, the password isn't needed any more.
        if (await loads.FindLoadAsync(blob, cancellationToken) is not { State: not LoadState.Ingesting })
            await PutAsync(blob, password, cancellationToken);
        await DeleteAsync(Coming(blob.Name), cancellationToken);
    }

    /// <summary>Returns the password for a blob version, or the one kept for the version being uploaded.</summary>
    /// <returns>Null if none was given.</returns>
    /// <exception cref="BadInputException">The password can't be opened: this process has another key, or none.</exception>
    public async Task<string?> GetAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        await FindAsync(blob, cancellationToken) ?? await FindAsync(Coming(blob.Name), cancellationToken);

    /// <summary>Returns the key under which a password is kept until the upload has returned the blob's ETag.</summary>
    public static BlobVersion Coming(string blob) => new(blob, "");

    private async Task<string?> FindAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        if (_inMemory.TryGetValue(blob, out var password))
            return password;
        if (await loads.GetPasswordAsync(blob, cancellationToken) is not { } sealedPassword)
            return null;
        if (_keys is null)
            throw new BadInputException(
                $"the password of '{blob.Name}' is encrypted under HIBP_SECRET_KEY, which is not set here: set it and resume the load");
        return _keys.Open(sealedPassword, Context(blob)) is { } text
            ? Encoding.UTF8.GetString(text)
            : throw new BadInputException(
                $"the password of '{blob.Name}' is encrypted under another HIBP_SECRET_KEY: set that one, or resume with --password");
    }

    public async Task DeleteAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        _inMemory.TryRemove(blob, out _);
        await loads.DeletePasswordAsync(blob, cancellationToken);
    }

    private static byte[] Context(BlobVersion blob) => Encoding.UTF8.GetBytes($"{blob.Name}\n{blob.ETag}");
}
