using HibpIngest.Api.AccessLog;

namespace HibpIngest.Testing;

/// <summary>A storage account's access records, counted by a separate script and by the product's reader, which must agree.</summary>
/// <param name="Distinct">Number of records, each process's numbers counted once.</param>
/// <param name="Counts">Count by route template and status, separated by a space.</param>
internal sealed record AccessRecords(long Distinct, IReadOnlyDictionary<string, long> Counts)
{
    public long Of(string route, int status) => Counts.GetValueOrDefault($"{route} {status}");

    /// <param name="areRemoved">Deletes the log afterwards, for the next count.</param>
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
        var (output, _) = await ExternalProgram.RunScriptAsync("tests/HibpIngest.Testing/AccessLog/access-records.mjs", folder);
        using var json = JsonDocument.Parse(output);
        return new AccessRecords(
            json.RootElement.GetProperty("distinct").GetInt64(),
            json.RootElement.GetProperty("counts").EnumerateObject().ToDictionary(one => one.Name, one => one.Value.GetInt64()));
    }
}
