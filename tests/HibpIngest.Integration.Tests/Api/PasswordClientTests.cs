using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>Tests published Pwned Passwords clients against the API over each of the back ends.</summary>
public sealed class PasswordClientTests(PasswordClientTests.Corpus corpus) : IClassFixture<PasswordClientTests.Corpus>
{
    // Its login takes 20 seconds; the other clients test each back end in the same way.
    private const string Slow = "bitwarden";

    private static readonly bool All = Environment.GetEnvironmentVariable("HIBP_TEST_CLIENTS") == "all";

    public static TheoryData<string, string> Clients
    {
        get
        {
            var data = new TheoryData<string, string>();
            foreach (var (client, backend) in
                from client in PasswordClients.Here
                from backend in Enum.GetNames<PasswordBackend>()
                where All || client != Slow || backend == nameof(PasswordBackend.Pack)
                select (client, backend))
                data.Add(client, backend);
            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Clients))]
    public async Task Client_reports_the_counts_of_the_corpus(string client, string backend)
    {
        await using var web = await WebRig.StartAsync(
            corpus.Connection, passwords: new PasswordOptions { Passwords = Enum.Parse<PasswordPin>(backend) });
        await PasswordClients.AssertIsRightAsync(
            client, web.Address, corpus.Made, isKeptAsGzip: backend != nameof(PasswordBackend.Table), corpus.ExportAsync);
    }

    /// <summary>Stores the corpus in all three back ends of one storage account.</summary>
    public sealed class Corpus : IAsyncLifetime
    {
        private PasswordRig _rig = null!;

        internal string Connection => _rig.Connection;

        internal ClientCorpus Made { get; } = new(seed: 13);

        public async Task InitializeAsync()
        {
            _rig = await PasswordRig.StartAsync();
            await _rig.ImportAsync(Made, "made");
            // Packs are served by default.
            foreach (var backend in PasswordRig.Everywhere.Reverse())
                await _rig.Releases.SwitchAsync(backend, "made", None);
        }

        public Task DisposeAsync()
        {
            _rig.Dispose();
            return Task.CompletedTask;
        }

        /// <summary>Exports as <c>hibp passwords export</c> does.</summary>
        internal async Task ExportAsync(string file)
        {
            await using var output = File.Create(file);
            await new ExportPasswords(_rig.Stores, _rig.Releases, TimeProvider.System).RunAsync(null, HashMode.Sha1, output, null, None);
        }
    }
}
