using System.Net.Sockets;
using HibpIngest.Cli.Emulator;
using HibpIngest.Integration.Tests.AzureStorage;
using HibpIngest.Integration.Tests.Cli;

namespace HibpIngest.Integration.Tests.Azurite;

public sealed class AzuriteEmulatorTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Emulator_is_reachable_once_started_and_stopped_once_disposed()
    {
        var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), None);
        var endpoints = ((string[])["Blob", "Queue", "Table"])
            .Select(service => ConnectionStrings.Endpoint(emulator.ConnectionString, service)).ToList();
        Assert.Equal(3, endpoints.Distinct().Count());
        using var client = new HttpClient();
        foreach (var endpoint in endpoints)
        {
            using var answer = await client.GetAsync(endpoint);
            Assert.NotEqual(HttpStatusCode.OK, answer.StatusCode); // the emulator refuses unsigned requests
        }

        var pid = emulator.ProcessId;
        await emulator.DisposeAsync();
        Assert.Throws<ArgumentException>(() => Process.GetProcessById(pid));
        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetAsync(endpoints[0]));
    }

    [Fact]
    public async Task Taken_port_is_reported_as_one_error()
    {
        using var taken = new TcpListener(IPAddress.Loopback, 0);
        taken.Start();
        var port = ((IPEndPoint)taken.LocalEndpoint).Port;
        var error = await Assert.ThrowsAsync<NotPossibleException>(
            () => AzuriteEmulator.StartAsync(new AzuriteOptions { TablePort = port }, None));
        Assert.Contains("EADDRINUSE", error.Message, StringComparison.Ordinal);
        Assert.Contains($"{port}", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Saved_files_belong_to_the_owner_of_the_data_folder_even_under_root()
    {
        if (!OperatingSystem.IsLinux())
            return; // other systems have no file modes
        using var folder = new TemporaryFolder();
        var owner = await Shell.OwnerAsync(folder.Path);
        await Shell.RunAsync("chown", owner, folder.Path);
        await using (var emulator = await AzuriteEmulator.StartAsync(
            new AzuriteOptions { DataFolder = folder.Path }, None))
        {
            using var account = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance);
            await account.Blobs.CreateAsync(None);
        }
        var files = Directory.GetFileSystemEntries(folder.Path, "*", SearchOption.AllDirectories);
        Assert.NotEmpty(files);
        foreach (var file in files)
            Assert.Equal(owner, await Shell.RunAsync("stat", "-c", "%u:%g", file));
    }

    [Fact]
    public async Task Second_emulator_waits_until_the_first_has_saved_its_data()
    {
        using var folder = new TemporaryFolder();
        var first = await AzuriteEmulator.StartAsync(new AzuriteOptions { DataFolder = folder.Path }, None);
        var second = AzuriteEmulator.StartAsync(new AzuriteOptions { DataFolder = folder.Path }, None);
        using (var account = StorageAccount.Open(first.ConnectionString, NullLoggerFactory.Instance))
            await StorageAccountTests.UseAllAsync(account);
        Assert.False(second.IsCompleted);
        await first.DisposeAsync();
        await using var emulator = await second;
        using var kept = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance);
        Assert.Equal([1], await kept.Accounts.GetMarksAsync(new Account("anna", "example.com"), 1, None));
        Assert.Equal("{}"u8.ToArray(), await kept.Blobs.ReadSmallAsync("a.json", 10, None));
        Assert.Equal(1, (await kept.Queues.Get("breach-test").GetDepthAsync(None)).Messages);
    }

    [Fact]
    public async Task Removing_few_of_many_documents_sorts_no_index_and_keeps_the_indexes_correct()
    {
        await AzuriteFixture.NewAccountAsync(); // installs the emulator
        const string Script = """
            const loki = require('lokijs');
            const documents = new loki('x').addCollection('x', { indices: ['id', 'owner'] });
            for (let i = 0; i < 1000; i++)
              documents.insert({ id: `${i * 7919 % 1000}`, owner: `${i % 10}` });
            let sorts = 0;
            const sort = loki.Collection.prototype.ensureIndex;
            loki.Collection.prototype.ensureIndex = function (name, force) {
              sorts += force ? 1 : 0;
              return sort.call(this, name, force);
            };
            for (let i = 0; i < 200; i++)
              documents.findAndRemove({ id: `${i}` });
            documents.remove([]);
            documents.remove(documents.find({ id: '200' }));
            const few = sorts;
            documents.findAndRemove({ owner: '1' });
            console.log(JSON.stringify([few, documents.count(), documents.find({ id: '1' }).length, documents.find({ owner: '1' }).length,
              documents.find({ owner: '2' }).length, documents.checkAllIndexes()]));
            """;
        var said = await RunAsync(Script, "indexed-removals.cjs");
        output.WriteLine(said);
        Assert.Equal("[0,719,0,0,80,[]]", said);
    }

    /// <summary>Runs a script in the emulator's package, after loading some of its scripts.</summary>
    private static Task<string> RunAsync(string script, params string[] before)
    {
        var folder = EmulatorPackage.Folder;
        return Shell.RunAsync(
            "node", [.. before.SelectMany(one => (string[])["--require", Path.Combine(folder, one)]), "-e",
                script.Replace("'lokijs'", $"'{Path.Combine(folder, "node_modules", "lokijs")}'", StringComparison.Ordinal)]);
    }

    [Fact]
    public async Task Saves_wait_four_times_the_duration_of_the_last_one_except_at_the_end()
    {
        // A clock that advances a second at each save.
        const string Script = """
            let now = 1000;
            Date.now = () => now;
            const Loki = require('lokijs');
            let saves = 0;
            const saveDatabase = (name, text, done) => { now += 1000; saves++; done(); };
            const adapter = { saveDatabase, loadDatabase: (name, done) => done(null) };
            const database = new Loki('x', { adapter, throttledSaves: false, autosaveInterval: 1e9 });
            database.autosaveEnable();
            const entities = database.addCollection('entities', { indices: ['PartitionKey', 'RowKey'] });
            const is = [];
            const add = () => { entities.insert({ PartitionKey: 'p', RowKey: `${now}` }); is.push(database.autosaveDirty()); };
            add();
            database.saveDatabase();
            add();
            now += 3999;
            add();
            now += 1;
            add();
            database.saveDatabase();
            add();
            database.close();
            console.log(JSON.stringify([is, saves, Object.keys(entities.binaryIndices)]));
            process.exit();
            """;
        Assert.Equal("[[true,false,false,true,false],3,[\"RowKey\"]]", await RunAsync(Script, "paced-saves.cjs", "indexed-lookups.cjs"));
    }
}
