using System.Collections.Concurrent;
using System.Security.Cryptography;
using System.Text;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// Keeps the password of an encrypted archive for its ingest: sealed in SQL under HIBP_SECRET_KEY (AES-256-GCM,
/// bound to the version of the blob), or, without a key, in the memory of this process only. Deleted when the
/// ingest has ended, however it did. A password that is put before its upload, whose ETag nobody knows yet, is
/// kept under an empty one.
/// </summary>
public sealed class ArchivePasswords : IDisposable
{
    private const int NonceBytes = 12;
    private const int TagBytes = 16;
    private const int KeyBytes = 32;

    private readonly IArchivePasswords _database;
    private readonly ILoads _loads;
    private readonly AesGcm? _aes;
    private readonly ConcurrentDictionary<BlobVersion, string> _inMemory = new();

    /// <param name="database">Where they are kept.</param>
    /// <param name="loads">Whose archives they open.</param>
    /// <param name="secretKey">Base64 of 32 bytes, or null.</param>
    /// <exception cref="BadInputException">The key isn't that.</exception>
    public ArchivePasswords(IArchivePasswords database, ILoads loads, string? secretKey)
    {
        (_database, _loads) = (database, loads);
        if (string.IsNullOrEmpty(secretKey))
            return;
        var key = new byte[KeyBytes];
        if (!Convert.TryFromBase64String(secretKey, key, out var written) || written != KeyBytes)
            throw new BadInputException("HIBP_SECRET_KEY is expected to be 32 bytes in base64; make one with: openssl rand -base64 32");
        _aes = new AesGcm(key, TagBytes);
    }

    /// <summary>Whether passwords outlive this process.</summary>
    public bool Durable => _aes is not null;

    public async Task PutAsync(BlobVersion blob, string password, CancellationToken cancellationToken)
    {
        if (_aes is null)
        {
            _inMemory[blob] = password;
            return;
        }
        var text = Encoding.UTF8.GetBytes(password);
        var sealedPassword = new byte[NonceBytes + TagBytes + text.Length];
        RandomNumberGenerator.Fill(sealedPassword.AsSpan(0, NonceBytes));
        _aes.Encrypt(
            sealedPassword.AsSpan(0, NonceBytes), text, sealedPassword.AsSpan(NonceBytes + TagBytes),
            sealedPassword.AsSpan(NonceBytes, TagBytes), Context(blob));
        await _database.PutPasswordAsync(blob, sealedPassword, cancellationToken);
    }

    /// <summary>Keeps the password of an archive for whichever process ingests it.</summary>
    /// <exception cref="BadInputException">Without HIBP_SECRET_KEY it would not leave this process.</exception>
    public async Task KeepAsync(BlobVersion blob, string password, CancellationToken cancellationToken)
    {
        if (!Durable)
        {
            throw new BadInputException("the password can only be kept for the ingest under HIBP_SECRET_KEY, which is not set: make a key "
                + "with 'openssl rand -base64 32' and set it here and where 'hibp run' runs");
        }
        await PutAsync(blob, password, cancellationToken);
    }

    /// <summary>
    /// The upload has told which version the password is of, that <see cref="KeepAsync"/> has kept for
    /// the version to come.
    /// </summary>
    public async Task SettleAsync(BlobVersion blob, string password, CancellationToken cancellationToken)
    {
        // Its load may have ended by now; then nobody asks for it any more.
        if (await _loads.FindLoadAsync(blob, cancellationToken) is not { State: not LoadState.Ingesting })
            await PutAsync(blob, password, cancellationToken);
        await DeleteAsync(Coming(blob.Name), cancellationToken);
    }

    /// <summary>
    /// The password for a blob version, or the one put for the version being dropped; null where none was
    /// given.
    /// </summary>
    /// <exception cref="BadInputException">There is one and it can't be opened with this process's key, or it
    /// has none.</exception>
    public async Task<string?> GetAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        await FindAsync(blob, cancellationToken) ?? await FindAsync(Coming(blob.Name), cancellationToken);

    /// <summary>
    /// The version of a blob that is being dropped, under which its password waits until the upload has told
    /// its ETag.
    /// </summary>
    public static BlobVersion Coming(string blob) => new(blob, "");

    private async Task<string?> FindAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        if (_inMemory.TryGetValue(blob, out var password))
            return password;
        if (await _database.GetPasswordAsync(blob, cancellationToken) is not { } sealedPassword)
            return null;
        if (_aes is null)
            throw new BadInputException(
                $"the password of '{blob.Name}' is kept under HIBP_SECRET_KEY, which is not set here: set it and resume the load");
        var text = new byte[sealedPassword.Length - NonceBytes - TagBytes];
        try
        {
            _aes.Decrypt(
                sealedPassword.AsSpan(0, NonceBytes), sealedPassword.AsSpan(NonceBytes + TagBytes),
                sealedPassword.AsSpan(NonceBytes, TagBytes), text, Context(blob));
        }
        catch (CryptographicException e)
        {
            throw new BadInputException(
                $"the password of '{blob.Name}' was kept under another HIBP_SECRET_KEY: set that one, or resume with --password", e);
        }
        return Encoding.UTF8.GetString(text);
    }

    public async Task DeleteAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        _inMemory.TryRemove(blob, out _);
        await _database.DeletePasswordAsync(blob, cancellationToken);
    }

    private static byte[] Context(BlobVersion blob) => Encoding.UTF8.GetBytes($"{blob.Name}\n{blob.ETag}");

    public void Dispose() => _aes?.Dispose();
}
