using Azure.Storage.Blobs;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Testing;

/// <summary>Imports dropped Pwned Passwords files, one message at a time in place of a host, so that a test controls the order.</summary>
internal sealed class DropRig : IDisposable
{
    // Longer than any test runs.
    private static readonly TimeSpan Visibility = TimeSpan.FromMinutes(10);

    private readonly string _connection;
    private readonly StorageOptions _options;
    private readonly StorageAccount _account;

    private DropRig(string connection, string name)
    {
        _connection = connection;
        _options = new StorageOptions
        {
            MaxRetries = 0,
            PasswordsContainer = $"passwords{name}",
            PasswordDropsContainer = $"drops{name}",
            QueuePrefix = name.Length == 0 ? "" : $"q{name}-",
        };
        _account = StorageAccount.Open(connection, NullLoggerFactory.Instance, _options);
    }

    public TestClock Clock { get; } = new();

    public PasswordStores Stores => new PasswordStores(_account.PasswordBlobs, _account.PasswordTables);

    public PasswordReleases Releases => PasswordRig.ReleasesOf(Stores);

    public ImportPlans Plans => new(_account.PasswordBlobs);

    public IPasswordDrops Drops => _account.PasswordDrops;

    public IMessageQueue Queue => _account.Queues.Get(QueueNames.PasswordsImport);

    private IMessageQueue Poison => _account.Queues.Get(QueueNames.PasswordsImport + QueueNames.PoisonSuffix);

    /// <param name="name">Distinguishes several rigs in one storage account.</param>
    public static async Task<DropRig> StartAsync(string? connection = null, string name = "")
    {
        var rig = new DropRig(connection ?? await AzuriteFixture.NewAccountAsync(), name);
        await rig.Stores.Blobs.CreateAsync(CancellationToken.None);
        await rig.Drops.CreateAsync(CancellationToken.None);
        await rig.Queue.CreateAsync(CancellationToken.None);
        await rig.Poison.CreateAsync(CancellationToken.None);
        return rig;
    }

    public Worker Open(FaultyBlobs? watched = null, CollectingLogger? log = null)
    {
        var (blobs, drops) = (watched?.Port ?? _account.PasswordBlobs, watched?.Wrap(Drops) ?? Drops);
        var releases = PasswordRig.ReleasesOf(Stores with { Blobs = blobs });
        var plans = new ImportPlans(blobs);
        var messages = new ImportMessages(_account.Queues);
        var complete = new CompleteImport(
            Stores with { Blobs = blobs }, releases, new ReplicatedReleases(releases, []), drops, plans, Clock,
            log?.For<CompleteImport>() ?? NullLogger<CompleteImport>.Instance);
        var plan = new PlanImport(drops, plans, releases, messages, complete, Clock, NullLogger<PlanImport>.Instance);
        return new Worker(
            this, plan, new ImportGroup(blobs, drops, plans, complete),
            new SweepImports(drops, plans, messages, plan, complete, Clock, NullLogger<SweepImports>.Instance));
    }

    public async Task<DroppedPasswords> DropAsync(string name, byte[] content)
    {
        await new BlobContainerClient(_connection, _options.PasswordDropsContainer).GetBlobClient(name)
            .UploadAsync(new BinaryData(content), overwrite: true);
        return (await Drops.FindAsync(name, CancellationToken.None))!;
    }

    public async Task<ReleaseKey> KeyAsync(string release) => (await Releases.FindAsync(release, CancellationToken.None))!.Key;

    public async Task<IReadOnlyList<string>> DroppedAsync() =>
        await Drops.ListAsync(CancellationToken.None).Select(file => file.Name).ToListAsync();

    public async Task<IReadOnlyList<string>> NamesAsync(string prefix) =>
        await Stores.Blobs.ListAsync(prefix, CancellationToken.None).ToListAsync();

    public void Dispose() => _account.Dispose();

    public sealed class Worker(DropRig rig, PlanImport plan, ImportGroup group, SweepImports sweep)
    {
        public Task PlanAsync(DroppedPasswords file) => plan.RunAsync(file, CancellationToken.None);

        public Task ImportAsync(string message) => group.RunAsync(WorkMessage.Parse<ImportMessage>(message), CancellationToken.None);

        public Task SweepAsync() => sweep.RunAsync(TimeSpan.Zero, CancellationToken.None);

        /// <summary>Processes up to this many messages; a failed one becomes visible again.</summary>
        public async Task PumpAsync(int maxMessages = int.MaxValue)
        {
            while (maxMessages > 0 && await rig.Queue.ReceiveAsync(1, Visibility, CancellationToken.None) is [var message])
            {
                try
                {
                    await ImportAsync(message.Body);
                }
                catch
                {
                    await rig.Queue.ExtendAsync(message, TimeSpan.Zero, CancellationToken.None);
                    throw;
                }
                await rig.Queue.DeleteAsync(message, CancellationToken.None);
                maxMessages--;
            }
        }

        /// <summary>Processes messages and sweeps until nothing is left, at most four rounds; rejected messages stay queued.</summary>
        public async Task FinishAsync()
        {
            const int MaxRounds = 4;
            for (var round = 0; round < MaxRounds; round++)
            {
                await PumpAsync();
                rig.Clock.Advance(TimeSpan.FromMinutes(5));
                await SweepAsync();
                if ((await rig.DroppedAsync()).Count == 0 && (await rig.NamesAsync("imports/")).Count == 0)
                    return;
            }
        }
    }
}
