using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using HibpIngest.Clients;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// Who is called back: adds, changes and removes clients, each with a key of the API for what it watches, and a secret that it is
/// called with. Both are given back once, and kept as a hash and sealed.
/// </summary>
public sealed class ClientOperations(
    ICallbackClients clients, IApiKeys keys, IPrefixBlobs prefixes, SecretKeys? secretKeys, TimeProvider time,
    bool allowsLoopback = false)
{
    private const int MostUrlLength = 2_000;

    // Numbers have as many digits that nobody takes one for another's, and are drawn at random, as none may come again.
    private const int FirstNumber = 100_000;

    /// <summary>How long a removal waits until no server knows the client's key any more, and none has a request of it in hand.</summary>
    public static readonly TimeSpan RemovalPause = ApiKey.KnownFor + TimeSpan.FromSeconds(5);

    private const string NoKeys = "what a client is called with is kept under HIBP_SECRET_KEY, which is not set: make a key with 'openssl "
        + "rand -base64 32' and set it here and where 'hibp run' runs";

    /// <param name="name">Whose it is; unique among clients and keys.</param>
    /// <param name="url">Where it is called, by https, at a public address.</param>
    /// <param name="rpm">Requests a minute of its key.</param>
    /// <exception cref="BadInputException">Name, address or a number can't be meant; there is no HIBP_SECRET_KEY.</exception>
    /// <exception cref="NotPossibleException">There is one of that name.</exception>
    public async Task<NewClient> AddAsync(
        string name, string url, bool isSensitive, int cap, int rpm, CancellationToken cancellationToken)
    {
        CheckName(name);
        CheckUrl(url);
        if (cap is < 1 or > CallbackClient.MostCap)
            throw new BadInputException($"--cap is expected to be from 1 to {CallbackClient.MostCap}, found {cap}");
        CheckRpm(rpm);
        if (secretKeys is null)
            throw new BadInputException(NoKeys);
        await clients.CreateAsync(cancellationToken);
        await prefixes.CreateAsync(cancellationToken);
        await keys.CreateAsync(cancellationToken);
        if (await FindAsync(name, cancellationToken) is not null)
            throw new NotPossibleException($"there is a client '{name}' already: take another name");
        if ((await keys.ListAsync(cancellationToken)).Any(key => IsNamed(key.Name, name)))
            throw new NotPossibleException($"there is a key '{name}' already, and a client's key has its name: take another name");
        var (key, secret) = (NewKey(), NewSecret());
        CallbackClient client;
        do
        {
            var number = RandomNumberGenerator.GetInt32(FirstNumber, int.MaxValue);
            client = new CallbackClient
            {
                Number = number,
                Name = name,
                Url = url,
                IsSensitive = isSensitive,
                Cap = cap,
                SealedSecret = Seal(number, secret),
                KeyHash = ApiKey.HashOf(key),
                CreatedAt = time.GetUtcNow(),
            };
        }
        while (!await clients.AddAsync(client, cancellationToken) && !await IsThereAsync(client, cancellationToken));
        // Behind the client: broken off here, it is one that has no key, and 'rotate --key' gives it one.
        await AddKeyAsync(client, rpm, cancellationToken);
        return new NewClient(client, key, secret);
    }

    /// <summary>All, by name, each with as many prefixes as it watches.</summary>
    public async Task<IReadOnlyList<(CallbackClient Client, int Prefixes)>> ListAsync(CancellationToken cancellationToken)
    {
        var found = new List<(CallbackClient, int)>();
        foreach (var client in await clients.ListAsync(cancellationToken))
            found.Add((client, await CountAsync(client.Number, cancellationToken)));
        return found;
    }

    /// <summary>Gives it another secret, which it is called with from the next call on.</summary>
    /// <exception cref="NotPossibleException">There is no such client.</exception>
    /// <exception cref="BadInputException">There is no HIBP_SECRET_KEY.</exception>
    public async Task<NewClient> RotateSecretAsync(string name, CancellationToken cancellationToken)
    {
        if (secretKeys is null)
            throw new BadInputException(NoKeys);
        var secret = NewSecret();
        var client = await ChangeAsync(
            name, client => client with { SealedSecret = Seal(client.Number, secret) }, cancellationToken);
        return new NewClient(client, null, secret);
    }

    /// <summary>Gives it another key; the one that it had is refused within seconds.</summary>
    /// <exception cref="NotPossibleException">There is no such client.</exception>
    /// <exception cref="BadInputException">The number can't be meant.</exception>
    public async Task<NewClient> RotateKeyAsync(string name, int? rpm, CancellationToken cancellationToken)
    {
        if (rpm is { } given)
            CheckRpm(given);
        var before = await GetAsync(name, cancellationToken);
        rpm ??= (await keys.FindAsync(before.KeyHash, cancellationToken))?.Rpm ?? CallbackClient.DefaultRpm;
        var key = NewKey();
        var client = await ChangeAsync(name, client => client with { KeyHash = ApiKey.HashOf(key) }, cancellationToken);
        await AddKeyAsync(client, rpm.Value, cancellationToken);
        // All but the one that counts now, whoever has put them there: one that was broken off before this leaves one behind.
        var current = await GetAsync(name, cancellationToken);
        foreach (var other in await KeysOfAsync(client, cancellationToken))
        {
            if (other.Hash != current.KeyHash)
                await keys.RemoveAsync(other.Hash, cancellationToken);
        }
        return new NewClient(client, key, null);
    }

    /// <summary>It is called no more until it is resumed; what is to be called is kept.</summary>
    /// <exception cref="NotPossibleException">There is no such client.</exception>
    public Task<CallbackClient> SetPausedAsync(string name, bool isPaused, CancellationToken cancellationToken) =>
        ChangeAsync(name, client => client with { IsPaused = isPaused }, cancellationToken);

    /// <summary>
    /// Takes it away, with its key and what it watches. Takes <see cref="RemovalPause"/>; broken off, it is to be called again.
    /// </summary>
    /// <exception cref="NotPossibleException">There is no such client.</exception>
    public async Task<CallbackClient> RemoveAsync(string name, CancellationToken cancellationToken)
    {
        var client = await GetAsync(name, cancellationToken);
        foreach (var key in await KeysOfAsync(client, cancellationToken))
            await keys.RemoveAsync(key.Hash, cancellationToken);
        // A server that knows the key yet could store a prefix behind the deletion.
        await Task.Delay(RemovalPause, time, cancellationToken);
        await prefixes.DeleteAsync(client.Number, cancellationToken);
        await clients.RemoveAsync(client.Number, cancellationToken);
        return client;
    }

    /// <summary>Finds one by its name.</summary>
    /// <exception cref="NotPossibleException">There is no such client.</exception>
    public async Task<CallbackClient> GetAsync(string name, CancellationToken cancellationToken) =>
        await FindAsync(name, cancellationToken)
        ?? throw new NotPossibleException($"there is no client '{name}'; hibp clients list shows those there are");

    /// <summary>As many prefixes as a client watches.</summary>
    public async Task<int> CountAsync(int number, CancellationToken cancellationToken) =>
        (await prefixes.ReadAsync(number, cancellationToken))?.Prefixes.Count ?? 0;

    private async Task<CallbackClient> ChangeAsync(
        string name, Func<CallbackClient, CallbackClient> change, CancellationToken cancellationToken)
    {
        while (true)
        {
            var changed = change(await GetAsync(name, cancellationToken));
            if (await clients.ChangeAsync(changed, cancellationToken))
                return changed;
        }
    }

    private async Task<CallbackClient?> FindAsync(string name, CancellationToken cancellationToken) =>
        (await clients.ListAsync(cancellationToken)).FirstOrDefault(client => IsNamed(client.Name, name));

    /// <summary>Whether it is what its insert was refused for: an insert whose answer is lost is sent again.</summary>
    private async Task<bool> IsThereAsync(CallbackClient client, CancellationToken cancellationToken) =>
        (await clients.ListAsync(cancellationToken)).Any(one => one.Number == client.Number && one.KeyHash == client.KeyHash);

    private async Task<IEnumerable<ApiKey>> KeysOfAsync(CallbackClient client, CancellationToken cancellationToken) =>
        (await keys.ListAsync(cancellationToken)).Where(key => key.Client == client.Number);

    private async Task AddKeyAsync(CallbackClient client, int rpm, CancellationToken cancellationToken) => await keys.AddAsync(
        new ApiKey
        {
            Hash = client.KeyHash,
            Name = client.Name,
            Rpm = rpm,
            Scopes = KeyScopes.Range,
            Client = client.Number,
            CreatedAt = time.GetUtcNow(),
        }, cancellationToken);

    private byte[] Seal(int number, string secret) => secretKeys!.Seal(Encoding.ASCII.GetBytes(secret), ContextOf(number));

    /// <summary>What a client is called with; null: it is sealed under a key that is not among these.</summary>
    public static string? OpenSecret(CallbackClient client, SecretKeys? keys) =>
        keys?.Open(client.SealedSecret, ContextOf(client.Number)) is { } secret ? Encoding.ASCII.GetString(secret) : null;

    /// <summary>It opens for its client only.</summary>
    private static byte[] ContextOf(int number) =>
        Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"client {number}"));

    private static bool IsNamed(string one, string other) => one.Equals(other, StringComparison.OrdinalIgnoreCase);

    private static string NewKey() => RandomNumberGenerator.GetHexString(ApiKey.Digits, lowercase: true);

    // 256 bits, in characters that a header takes.
    private static string NewSecret() => RandomNumberGenerator.GetHexString(64, lowercase: true);

    private static void CheckName(string name)
    {
        if (!ApiKey.IsName(name))
            throw new BadInputException($"a client's name is expected to be 1 to {ApiKey.MostNameLength} characters, and no email address");
    }

    private static void CheckRpm(int rpm)
    {
        if (rpm is < 1 or > ApiKey.MostRpm)
            throw new BadInputException($"--rpm is expected to be from 1 to {ApiKey.MostRpm}, found {rpm}");
    }

    private void CheckUrl(string url)
    {
        if (url.Length > MostUrlLength || !Uri.TryCreate(url, UriKind.Absolute, out var address)
            || (address.Scheme != Uri.UriSchemeHttps && !(allowsLoopback && address.Scheme == Uri.UriSchemeHttp))
            || address.Host.Length == 0 || address.UserInfo.Length > 0 || address.Fragment.Length > 0)
        {
            throw new BadInputException(
                "--url is expected to be an https address without user, password and fragment, as https://example.com/callback");
        }
        if (!(allowsLoopback && address.IsLoopback) && PublicAddress.ReasonAgainst(address) is { } reason)
            throw new BadInputException($"--url is expected to lead to a public address, and {reason}");
    }
}

/// <summary>A client, with what is shown once of it.</summary>
/// <param name="Key">Its new key of the API; null: it is as it was.</param>
/// <param name="Secret">What it is called with; null: as before.</param>
public sealed record NewClient(CallbackClient Client, string? Key, string? Secret);
