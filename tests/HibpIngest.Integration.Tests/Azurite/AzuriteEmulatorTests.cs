using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Hosting.Local;
using HibpIngest.Integration.Tests.Cli;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Integration.Tests.Azurite;

public sealed class AzuriteEmulatorTests
{
    [Fact]
    public async Task Is_reachable_once_started_and_gone_once_disposed()
    {
        var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        var endpoints = Endpoints(emulator.ConnectionString);
        Assert.Equal(3, endpoints.Distinct().Count());
        using var client = new HttpClient();
        foreach (var endpoint in endpoints)
        {
            using var answer = await client.GetAsync(endpoint);
            Assert.NotEqual(HttpStatusCode.OK, answer.StatusCode); // not signed: refused, by the emulator
        }

        var pid = emulator.ProcessId;
        await emulator.DisposeAsync();
        Assert.Throws<ArgumentException>(() => Process.GetProcessById(pid));
        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetAsync(endpoints[0]));
    }

    [Fact]
    public async Task A_taken_port_is_one_clear_error()
    {
        using var taken = new TcpListener(IPAddress.Loopback, 0);
        taken.Start();
        var port = ((IPEndPoint)taken.LocalEndpoint).Port;
        var error = await Assert.ThrowsAsync<NotPossibleException>(
            () => AzuriteEmulator.StartAsync(new AzuriteOptions { TablePort = port }, CancellationToken.None));
        Assert.Contains("EADDRINUSE", error.Message, StringComparison.Ordinal);
        Assert.Contains(port.ToString(System.Globalization.CultureInfo.InvariantCulture), error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_it_has_saved_belongs_to_the_owner_of_its_folder_though_root_ran_it()
    {
        if (!OperatingSystem.IsLinux())
            return; // elsewhere a file belongs to the user who wrote it
        using var folder = new TemporaryFolder();
        var owner = Environment.IsPrivilegedProcess ? "12345:12346" : await Shell.RunAsync("stat", "-c", "%u:%g", folder.Path);
        await Shell.RunAsync("chown", owner, folder.Path);
        await using (var emulator = await AzuriteEmulator.StartAsync(
            new AzuriteOptions { DataFolder = folder.Path }, CancellationToken.None))
        {
            using var account = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance);
            await account.Blobs.CreateAsync(CancellationToken.None);
        }
        var files = Directory.GetFileSystemEntries(folder.Path, "*", SearchOption.AllDirectories);
        Assert.NotEmpty(files);
        foreach (var file in files)
            Assert.Equal(owner, await Shell.RunAsync("stat", "-c", "%u:%g", file));
    }

    [Fact]
    public async Task Another_one_waits_for_the_folder_until_what_was_written_there_is_saved()
    {
        using var folder = new TemporaryFolder();
        var first = await AzuriteEmulator.StartAsync(new AzuriteOptions { DataFolder = folder.Path }, CancellationToken.None);
        var second = AzuriteEmulator.StartAsync(new AzuriteOptions { DataFolder = folder.Path }, CancellationToken.None);
        using (var account = StorageAccount.Open(first.ConnectionString, NullLoggerFactory.Instance))
            await account.Blobs.CreateAsync(CancellationToken.None);
        Assert.False(second.IsCompleted);
        await first.DisposeAsync();
        await using var emulator = await second;
        using var again = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance);
        // There it is: where the container is missing, this is an error.
        await foreach (var _ in again.Blobs.ListDropsAsync(CancellationToken.None))
            Assert.Fail("nothing was dropped");
    }

    internal static Uri[] Endpoints(string connection) =>
        [.. connection.Split(';').Where(part => part.Contains("Endpoint=", StringComparison.Ordinal)).Select(
            part => new Uri(part[(part.IndexOf('=', StringComparison.Ordinal) + 1)..]))];
}
