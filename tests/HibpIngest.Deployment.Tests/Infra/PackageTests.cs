using System.Buffers.Binary;
using System.IO.Compression;
using HibpIngest.Deployment.Tests.Functions;

namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>
/// What deploy.sh uploads is laid out as the Functions host wants it
/// (learn.microsoft.com/azure/azure-functions/functions-custom-handlers, deployment-zip-push).
/// </summary>
public sealed class PackageTests
{
    [Theory]
    [InlineData(
        "ingest", "host.json", "AppendPasswords", "CallClients", "DeliverCallbacks", "Health", "ImportPasswords", "IngestBreach", "LogLoad",
        "MatchSubscribers", "PlanPasswords", "ResumeIngest", "RollUpAccess", "SendNotifications", "Sweep", "UpsertSlice")]
    [InlineData("web", "src/HibpIngest.Functions/Web/host.json", "Web")]
    public async Task A_zip_has_its_apps_host_file_and_functions_at_its_root_and_a_handler_that_Linux_starts(
        string app, string host, params string[] functions)
    {
        using var folder = new TemporaryFolder();
        var zip = Path.Combine(folder.Path, "app.zip");
        var published = await PublishedApp.FolderAsync();
        var (exitCode, output, error) = await PackAsync(published, zip, app);
        Assert.True(exitCode == 0, output + error);
        using (var archive = ZipFile.OpenRead(zip))
        {
            var names = archive.Entries.Select(entry => entry.FullName).ToHashSet();
            Assert.Equal(["host.json"], names.Where(name => Path.GetFileName(name) == "host.json"));
            using (var file = new StreamReader(archive.GetEntry("host.json")!.Open()))
                Assert.Equal(InfraFiles.Read(host), await file.ReadToEndAsync());
            // At the root, one level deep, and nowhere else.
            Assert.Equal(
                functions.Select(name => $"{name}/function.json").Order(StringComparer.Ordinal),
                names.Where(name => Path.GetFileName(name) == "function.json").Order(StringComparer.Ordinal));
            Assert.DoesNotContain(
                names, name => name.Contains('\\', StringComparison.Ordinal) || Path.GetFileName(name)
                .StartsWith("local.settings", StringComparison.Ordinal) || name.EndsWith(".example.json", StringComparison.Ordinal));
            // The host's image brings no .NET.
            Assert.Contains("System.Private.CoreLib.dll", names);
            Assert.Contains("libcoreclr.so", names);

            var handler = archive.GetEntry(Path.GetFileName(await PublishedApp.ExecutableAsync()))!;
            var head = new byte[20];
            await using (var content = handler.Open())
                await content.ReadExactlyAsync(head);
            Assert.Equal("\u007FELF\u0002"u8.ToArray(), head[..5]); // 64 bits
            Assert.Equal(62, BinaryPrimitives.ReadUInt16LittleEndian(head.AsSpan(18))); // x86-64
            foreach (var entry in archive.Entries)
                Assert.Equal(
                    (entry.FullName, entry == handler ? 0x81ED : 0x81A4), (entry.FullName, (entry.ExternalAttributes >> 16) & 0xFFFF));
        }
        Assert.All(MadeBy(await File.ReadAllBytesAsync(zip)), system => Assert.Equal(3, system)); // else the modes mean nothing
    }

    [Fact]
    public async Task A_folder_that_the_host_could_not_start_is_refused()
    {
        using var folder = new TemporaryFolder();
        var zip = Path.Combine(folder.Path, "app.zip");
        Directory.CreateDirectory(Path.Combine(folder.Path, "app"));
        var (exitCode, _, error) = await PackAsync(Path.Combine(folder.Path, "app"), zip);
        Assert.Equal(1, exitCode);
        Assert.Contains("has no host.json: expected the output of dotnet publish", error, StringComparison.Ordinal);

        File.Copy(Path.Combine(InfraFiles.Root, "host.json"), Path.Combine(folder.Path, "app", "host.json"));
        (exitCode, _, error) = await PackAsync(Path.Combine(folder.Path, "app"), zip);
        Assert.Equal(1, exitCode);
        Assert.Contains("host.json starts 'HibpIngest.Functions'", error, StringComparison.Ordinal);
        Assert.False(File.Exists(zip));
    }

    [Fact]
    public void Both_packages_together_have_every_function()
    {
        var of = typeof(PackageTests)
            .GetMethod(nameof(A_zip_has_its_apps_host_file_and_functions_at_its_root_and_a_handler_that_Linux_starts))!
            .GetCustomAttributes(typeof(InlineDataAttribute), false).Cast<InlineDataAttribute>()
            .SelectMany(data => data.GetData(null!).Single().Skip(2)).Cast<string>();
        var functions = Directory.GetDirectories(Path.Combine(InfraFiles.Root, "src", "HibpIngest.Functions"))
            .Where(path => File.Exists(Path.Combine(path, "function.json"))).Select(path => Path.GetFileName(path));
        Assert.Equal(functions.Order(StringComparer.Ordinal), of.Order(StringComparer.Ordinal));
    }

    private static Task<(int ExitCode, string Out, string Error)> PackAsync(string folder, string zip, params string[] app) =>
        InfraFiles.RunAsync("dotnet", ["run", "infra/pack.cs", folder, zip, .. app]);

    /// <summary>The system each entry says it was made on: upper byte of "version made by" in the central directory.</summary>
    private static List<byte> MadeBy(byte[] zip)
    {
        var found = new List<byte>();
        var position = BinaryPrimitives.ReadInt32LittleEndian(zip.AsSpan(zip.Length - 6));
        while (BinaryPrimitives.ReadUInt32LittleEndian(zip.AsSpan(position)) == 0x02014b50)
        {
            found.Add(zip[position + 5]);
            position += 46 + BinaryPrimitives.ReadUInt16LittleEndian(zip.AsSpan(position + 28))
                + BinaryPrimitives.ReadUInt16LittleEndian(zip.AsSpan(position + 30))
                + BinaryPrimitives.ReadUInt16LittleEndian(zip.AsSpan(position + 32));
        }
        return found;
    }
}
