using System.Diagnostics;
using System.Text.Json;
using HibpIngest.AccessLog;
using HibpIngest.AzureStorage;
using HibpIngest.Hosting.Local;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Benchmarks;

/// <summary>
/// The records that are in the access log of an account, counted by a script of its own (access-records.mjs), and by the product's
/// reader, which has to come to the same.
/// </summary>
/// <param name="Distinct">All, each process's numbers once.</param>
/// <param name="Counts">Of a route's template and a status, with a space between.</param>
internal sealed record AccessRecords(long Distinct, IReadOnlyDictionary<string, long> Counts)
{
    /// <summary>Those of a route that were answered with a status.</summary>
    public long Of(string route, int status) => Counts.GetValueOrDefault($"{route} {status}");

    /// <summary>Reads them.</summary>
    /// <param name="connection">The account.</param>
    /// <param name="folder">For the blobs' bytes; it is made, and removed.</param>
    /// <param name="areRemoved">Nothing of it is left for the next who counts.</param>
    public static async Task<AccessRecords> ReadAsync(string connection, string folder, bool areRemoved)
    {
        using var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        Directory.CreateDirectory(folder);
        try
        {
            var (names, seen) = (new List<string>(), new HashSet<(Guid, ulong)>());
            await foreach (var blob in account.AccessLog.ListAsync(CancellationToken.None))
            {
                names.Add(blob.Name);
                var path = Path.Combine(folder, blob.Name.Replace('/', '-'));
                await using (var from = await account.AccessLog.OpenAsync(blob.Name, 0, CancellationToken.None)
                    ?? throw new InvalidOperationException($"{blob.Name} was listed, and is not there"))
                await using (var to = File.Create(path))
                    await from.CopyToAsync(to);
                await using var bytes = File.OpenRead(path);
                await AccessLogReader.ReadAsync(
                    bytes, (Guid instance, ulong number, string _, in AccessRecord _) => seen.Add((instance, number)),
                    CancellationToken.None);
            }
            var counted = await CountAsync(folder);
            if (counted.Distinct != seen.Count)
                throw new InvalidOperationException($"the script counts {counted.Distinct} records, the reader {seen.Count}");
            foreach (var name in areRemoved ? names : [])
                await account.AccessLog.DeleteAsync(name, CancellationToken.None);
            return counted;
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static async Task<AccessRecords> CountAsync(string folder)
    {
        var script = RepositoryFolder.Find("tests/HibpIngest.Benchmarks/access-records.mjs")!;
        using var process = Process.Start(new ProcessStartInfo("node", ["--max-old-space-size=4096", script, folder])
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
        })!;
        var output = await process.StandardOutput.ReadToEndAsync();
        await process.WaitForExitAsync();
        if (process.ExitCode != 0)
            throw new InvalidOperationException("the access log can't be read by access-records.mjs: see above");
        using var json = JsonDocument.Parse(output);
        return new AccessRecords(
            json.RootElement.GetProperty("distinct").GetInt64(),
            json.RootElement.GetProperty("counts").EnumerateObject().ToDictionary(one => one.Name, one => one.Value.GetInt64()));
    }
}
