using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Testing;

/// <summary>Pwned Passwords in a storage account of its own, imported as an operator does.</summary>
internal sealed class PasswordRig : IDisposable
{
    public static readonly IReadOnlyList<PasswordBackend> Everywhere = [PasswordBackend.Pack, PasswordBackend.Blob, PasswordBackend.Table];

    private readonly StorageAccount _account;

    public PasswordRig(string connection)
    {
        Connection = connection;
        _account = StorageAccount.Open(connection, NullLoggerFactory.Instance, new StorageOptions { MaxRetries = 0 });
        Stores = new PasswordStores(_account.PasswordBlobs, _account.PasswordTables);
    }

    public string Connection { get; }

    public string Folder { get; } = Directory.CreateTempSubdirectory("hibp-").FullName;

    public PasswordStores Stores { get; }

    public IPasswordAppends Appends => _account.PasswordAppends;

    public IMessageQueue AppendQueue => _account.Queues.Get(QueueNames.PasswordsAppend);

    /// <summary>The stores as the target of a copy.</summary>
    public PasswordReplica Replica => new("replica", Stores, Releases);

    public PasswordReleases Releases => ReleasesOf(Stores);

    public static async Task<PasswordRig> StartAsync() => new(await AzuriteFixture.NewAccountAsync());

    /// <summary>Imports both modes of a corpus as one release into every back end, and serves it from packs.</summary>
    public async Task ImportAsync(ClientCorpus corpus, string release)
    {
        foreach (var mode in HashModes.All)
            await ImportAsync(corpus.Lines(mode), mode, release, Everywhere);
        await Releases.SwitchAsync(PasswordBackend.Pack, release, CancellationToken.None);
    }

    /// <summary>Imports lines without switching to them.</summary>
    public Task<ImportedPasswords> ImportAsync(
        IEnumerable<string> lines, HashMode mode, string? release, IReadOnlyList<PasswordBackend> into, PasswordStores? stores = null,
        TimeProvider? time = null) =>
        new ImportPasswords(stores ?? Stores, ReleasesOf(stores ?? Stores), time ?? TimeProvider.System)
            .RunAsync(Request(string.Join("\r\n", lines), mode, release, into), null, null, CancellationToken.None);

    public async Task<ReleaseKey> KeyAsync(string release) => (await Releases.FindAsync(release, CancellationToken.None))!.Key;

    /// <summary>Returns the name of the first blob of any release that ends with this text.</summary>
    public async Task<string> FindNameAsync(string end) => await Stores.Blobs.ListAsync("releases/", CancellationToken.None)
        .FirstAsync(name => name.EndsWith(end, StringComparison.Ordinal), CancellationToken.None);

    /// <summary>Repacks the served release, and serves the result.</summary>
    /// <param name="name">The new release; null: named by the date.</param>
    /// <param name="stores">Null: the rig's own.</param>
    public Task<RepackedPasswords> RepackAsync(string? name = "repacked", PasswordStores? stores = null)
    {
        var releases = ReleasesOf(stores ?? Stores);
        return new RepackPasswords(stores ?? Stores, releases, Appends, TimeProvider.System).RunAsync(
            name, Folder, (release, token) => releases.SwitchAsync(PasswordBackend.Pack, release, token), null, null,
            CancellationToken.None);
    }

    /// <summary>Copies a release to a replica; returns the number of copied hashes.</summary>
    public Task<long> CopyAsync(PasswordReplica replica, string release = "one", TimeProvider? time = null) =>
        new ReplicatePasswords(Stores, Releases, time ?? TimeProvider.System).RunAsync(replica, release, null, CancellationToken.None);

    public void Dispose()
    {
        _account.Dispose();
        Directory.Delete(Folder, recursive: true);
    }

    public static PasswordReleases ReleasesOf(PasswordStores stores, TimeProvider? time = null) => new(
        stores, new PurgeHook(null, null, new HttpClient(), NullLogger<PurgeHook>.Instance), time ?? TimeProvider.System);

    private ImportRequest Request(string text, HashMode mode, string? release, IReadOnlyList<PasswordBackend> into)
    {
        var bytes = Encoding.UTF8.GetBytes(text);
        return new ImportRequest
        {
            // The version is the content's, so that another text counts as another input.
            Inputs =
                [new ImportInput(
                    "lines", () => new MemoryStream(bytes)) { Length = bytes.Length,
                    Version = $"{StringComparer.Ordinal.GetHashCode(text)}" }],
            Options = new ImportOptions { WorkFolder = Path.Combine(Folder, mode.Name()), Mode = mode },
            Into = into,
            Release = release,
        };
    }
}
