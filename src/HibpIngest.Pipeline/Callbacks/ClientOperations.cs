namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// Adds, changes and removes the clients that are called back. Each has an API key, for registering what it watches, and a secret that
/// authenticates the calls to it. Both are shown once; the key is stored as a hash, the secret sealed. A client that doesn't exist is a
/// <see cref="NotPossibleException"/>.
/// </summary>
public sealed class ClientOperations(
    ICallbackClients clients, IApiKeys keys, IPrefixBlobs prefixes, SecretKeys? secretKeys, TimeProvider time,
    bool allowsLoopback = false)
{
    private const int MaxUrlLength = 2_000;

    // Numbers have enough digits that one isn't mistaken for another, and are drawn at random, because none may be reused.
    private const int FirstNumber = 100_000;

    /// <summary>How long a removal waits until no server still accepts the client's key or handles a request made with it.</summary>
    public static readonly TimeSpan RemovalPause = ApiKey.KnownFor + TimeSpan.FromSeconds(5);

    private const string NoKeys = "a client's secret is encrypted under HIBP_SECRET_KEY, which is not set: create a key with 'openssl "
        + "rand -base64 32' and set it here and where 'hibp run' runs";

    /// <param name="name">Unique among clients and keys.</param>
    /// <param name="rpm">Requests per minute allowed for its key.</param>
    /// <exception cref="BadInputException">The name, the address or a number is invalid, or HIBP_SECRET_KEY isn't set.</exception>
    /// <exception cref="NotPossibleException">The name is taken.</exception>
    public async Task<NewClient> AddAsync(
        string name, string url, bool isSensitive, int cap, int rpm, CancellationToken cancellationToken)
    {
        if (!ApiKey.IsName(name))
            throw new BadInputException($"client name: expected 1 to {ApiKey.MaxNameLength} characters, and no email address");
        CheckUrl(url);
        if (cap is < 1 or > CallbackClient.MaxCap)
            throw new BadInputException($"--cap: expected 1 to {CallbackClient.MaxCap}, found {cap}");
        CheckRpm(rpm);
        if (secretKeys is null)
            throw new BadInputException(NoKeys);
        await clients.CreateAsync(cancellationToken);
        await prefixes.CreateAsync(cancellationToken);
        await keys.CreateAsync(cancellationToken);
        if (await FindAsync(name, cancellationToken) is not null)
            throw new NotPossibleException($"client '{name}' already exists: choose another name");
        if ((await keys.ListAsync(cancellationToken)).Any(key => IsNamed(key.Name, name)))
            throw new NotPossibleException($"key '{name}' already exists, and a client's key has the client's name: choose another name");
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
        // After the client: if interrupted here, the client has no key, and 'rotate --key' gives it one.
        await AddKeyAsync(client, rpm, cancellationToken);
        return new NewClient(client, key, secret);
    }

    public async Task<IReadOnlyList<(CallbackClient Client, int Prefixes)>> ListAsync(CancellationToken cancellationToken)
    {
        var found = new List<(CallbackClient, int)>();
        foreach (var client in await clients.ListAsync(cancellationToken))
            found.Add((client, await CountAsync(client.Number, cancellationToken)));
        return found;
    }

    /// <summary>Replaces the client's secret, from the next call on.</summary>
    public async Task<NewClient> RotateSecretAsync(string name, CancellationToken cancellationToken)
    {
        if (secretKeys is null)
            throw new BadInputException(NoKeys);
        var secret = NewSecret();
        var client = await ChangeAsync(name, client => client with { SealedSecret = Seal(client.Number, secret) }, cancellationToken);
        return new NewClient(client, null, secret);
    }

    /// <summary>Replaces the client's key; the old one is refused within seconds.</summary>
    public async Task<NewClient> RotateKeyAsync(string name, int? rpm, CancellationToken cancellationToken)
    {
        if (rpm is { } given)
            CheckRpm(given);
        var before = await GetAsync(name, cancellationToken);
        rpm ??= (await keys.FindAsync(before.KeyHash, cancellationToken))?.Rpm ?? CallbackClient.DefaultRpm;
        var key = NewKey();
        var client = await ChangeAsync(name, client => client with { KeyHash = ApiKey.HashOf(key) }, cancellationToken);
        await AddKeyAsync(client, rpm.Value, cancellationToken);
        // Removes all other keys of the client, including one that an interrupted or concurrent rotation has left.
        var current = await GetAsync(name, cancellationToken);
        foreach (var other in await KeysOfAsync(client, cancellationToken))
        {
            if (other.Hash != current.KeyHash)
                await keys.RemoveAsync(other.Hash, cancellationToken);
        }
        return new NewClient(client, key, null);
    }

    /// <summary>Pauses or resumes the calls to a client; calls to a paused client are kept.</summary>
    public Task<CallbackClient> SetPausedAsync(string name, bool isPaused, CancellationToken cancellationToken) =>
        ChangeAsync(name, client => client with { IsPaused = isPaused }, cancellationToken);

    /// <summary>Removes a client with its keys and prefixes; takes <see cref="RemovalPause"/>. If interrupted, repeat it.</summary>
    public async Task<CallbackClient> RemoveAsync(string name, CancellationToken cancellationToken)
    {
        var client = await GetAsync(name, cancellationToken);
        foreach (var key in await KeysOfAsync(client, cancellationToken))
            await keys.RemoveAsync(key.Hash, cancellationToken);
        // A server that still accepts the key could store a prefix after the deletion.
        await Task.Delay(RemovalPause, time, cancellationToken);
        await prefixes.DeleteAsync(client.Number, cancellationToken);
        await clients.RemoveAsync(client.Number, cancellationToken);
        return client;
    }

    public async Task<CallbackClient> GetAsync(string name, CancellationToken cancellationToken) =>
        await FindAsync(name, cancellationToken)
        ?? throw new NotPossibleException($"there is no client '{name}'; see: hibp clients list");

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

    /// <summary>True if the refused insert had succeeded: an insert whose response is lost is sent again.</summary>
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

    /// <returns>Null if it is sealed under a key that is not among these.</returns>
    public static string? OpenSecret(CallbackClient client, SecretKeys? keys) =>
        keys?.Open(client.SealedSecret, ContextOf(client.Number)) is { } secret ? Encoding.ASCII.GetString(secret) : null;

    private static byte[] ContextOf(int number) => Encoding.ASCII.GetBytes($"client {number}");

    private static bool IsNamed(string one, string other) => one.Equals(other, StringComparison.OrdinalIgnoreCase);

    private static string NewKey() => RandomNumberGenerator.GetHexString(ApiKey.Digits, lowercase: true);

    // 256 bits, in characters that are valid in a header.
    private static string NewSecret() => RandomNumberGenerator.GetHexString(64, lowercase: true);

    private static void CheckRpm(int rpm)
    {
        if (rpm is < 1 or > ApiKey.MaxRpm)
            throw new BadInputException($"--rpm: expected 1 to {ApiKey.MaxRpm}, found {rpm}");
    }

    private void CheckUrl(string url)
    {
        if (url.Length > MaxUrlLength || !Uri.TryCreate(url, UriKind.Absolute, out var address)
            || (address.Scheme != Uri.UriSchemeHttps && !(allowsLoopback && address.Scheme == Uri.UriSchemeHttp))
            || address.Host.Length == 0 || address.UserInfo.Length > 0 || address.Fragment.Length > 0)
        {
            throw new BadInputException(
                "--url: expected an https address without user, password and fragment, as https://example.com/callback");
        }
        if (!(allowsLoopback && address.IsLoopback) && PublicAddress.ReasonAgainst(address) is { } reason)
            throw new BadInputException($"--url is expected to lead to a public address, and {reason}");
    }
}

/// <summary>A client with its credentials, which are shown only once. Null if they are unchanged.</summary>
public sealed record NewClient(CallbackClient Client, string? Key, string? Secret);
