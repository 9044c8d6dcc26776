using System.Net.Http.Headers;

namespace HibpIngest.Testing;

/// <summary>Reads a whole table over bare HTTP with SharedKeyLite, without the product's table client.</summary>
internal static class RawTable
{
    /// <summary>Returns every entity's domain, row key, and names of its b* properties.</summary>
    /// <param name="filter">An OData filter; empty: the whole table.</param>
    public static async Task<List<(string Domain, string Row, string[] Breaches)>> ReadAsync(
        string connectionString, string table, string filter = "")
    {
        using var http = new HttpClient();
        var rows = new List<(string, string, string[])>();
        var query = filter.Length > 0 ? $"?$filter={Uri.EscapeDataString(filter)}" : "?";
        var next = "";
        do
        {
            using var request = Request(connectionString, $"{table}()", query + next);
            using var response = await http.SendAsync(request);
            response.EnsureSuccessStatusCode();
            using var page = JsonDocument.Parse(await response.Content.ReadAsStreamAsync());
            foreach (var entity in page.RootElement.GetProperty("value").EnumerateArray())
            {
                rows.Add((entity.GetProperty("PartitionKey").GetString()!, entity.GetProperty("RowKey").GetString()!,
                    [.. entity.EnumerateObject()
                        .Where(property => property.Name[0] == 'b' && property.Value.ValueKind == JsonValueKind.True)
                        .Select(property => property.Name).Order()]));
            }
            next = response.Headers.TryGetValues("x-ms-continuation-NextPartitionKey", out var partition)
                ? $"&NextPartitionKey={Uri.EscapeDataString(partition.Single())}"
                    + (response.Headers.TryGetValues("x-ms-continuation-NextRowKey", out var row)
                        ? $"&NextRowKey={Uri.EscapeDataString(row.Single())}" : "")
                : "";
        }
        while (next.Length > 0);
        return rows;
    }

    public static async Task<List<string>> ListAsync(string connectionString)
    {
        using var http = new HttpClient();
        using var request = Request(connectionString, "Tables", "");
        using var response = await http.SendAsync(request);
        response.EnsureSuccessStatusCode();
        using var page = JsonDocument.Parse(await response.Content.ReadAsStreamAsync());
        return [.. page.RootElement.GetProperty("value").EnumerateArray().Select(table => table.GetProperty("TableName").GetString()!)];
    }

    /// <summary>Returns each account with the marks from all of its rows.</summary>
    public static async Task<Dictionary<string, string[]>> ReadAccountsAsync(string connectionString, string table) =>
        ByAccount(await ReadAsync(connectionString, table));

    /// <summary>Returns each hash with the marks from all of its rows.</summary>
    public static async Task<SortedDictionary<string, string>> ReadRangesAsync(string connectionString, string table) =>
        Sorted((await ReadAsync(connectionString, table)).GroupBy(row => row.Domain + row.Row.Split('!')[0])
            .Select(hash => (hash.Key, hash.SelectMany(row => row.Breaches))));

    /// <summary>Returns the accounts' hashes with the same marks.</summary>
    public static SortedDictionary<string, string> RangesOf(Dictionary<string, string[]> accounts) =>
        Sorted(accounts.Select(account => (
            Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account.Key))), account.Value.AsEnumerable())));

    /// <summary>
    /// Returns the accounts, read in key ranges, because the emulator sorts all that a query leaves for every page. The first and the last
    /// range are open, so that no account is left out.
    /// </summary>
    public static async Task<Dictionary<string, string[]>> ReadAccountsAsync(
        string connectionString, string table, IEnumerable<string> expected)
    {
        const int AboutAPage = 900;
        var bounds = expected.Select(account => (Domain: account.Split('@')[1], Alias: account.Split('@')[0]))
            .OrderBy(key => key.Domain, StringComparer.Ordinal)
            .ThenBy(key => key.Alias, StringComparer.Ordinal).Where((_, i) => i % AboutAPage == AboutAPage - 1).ToList();
        var rows = new List<(string, string, string[])>();
        for (var i = 0; i <= bounds.Count; i++)
        {
            var from = i > 0 ? $"(PartitionKey gt '{bounds[i - 1].Domain}' or (PartitionKey eq '{bounds[i - 1].Domain}' and RowKey ge "
                + $"'{bounds[i - 1].Alias}'))" : "";
            var to = i < bounds.Count ? $"(PartitionKey lt '{bounds[i].Domain}' or (PartitionKey eq '{bounds[i].Domain}' and RowKey lt "
                + $"'{bounds[i].Alias}'))" : "";
            rows.AddRange(
                await ReadAsync(connectionString, table, string.Join(" and ", new[] { from, to }.Where(part => part.Length > 0))));
        }
        return ByAccount(rows);
    }

    private static SortedDictionary<string, string> Sorted(IEnumerable<(string Hash, IEnumerable<string> Marks)> hashes) =>
        new(hashes.ToDictionary(hash => hash.Hash, hash => string.Join(' ', hash.Marks.Order())), StringComparer.Ordinal);

    private static HttpRequestMessage Request(string connectionString, string path, string query)
    {
        var settings = ConnectionStrings.Settings(connectionString);
        var endpoint = new Uri(settings["TableEndpoint"]);
        var request = new HttpRequestMessage(HttpMethod.Get, $"{endpoint}/{path}{query}");
        var date = TimeProvider.System.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
        request.Headers.Add("x-ms-date", date);
        request.Headers.Add("x-ms-version", "2019-02-02");
        request.Headers.Accept.Add(MediaTypeWithQualityHeaderValue.Parse("application/json;odata=nometadata"));
        var resource = $"/{settings["AccountName"]}{endpoint.AbsolutePath}/{path}";
        var signature = HMACSHA256.HashData(
            Convert.FromBase64String(settings["AccountKey"]), Encoding.UTF8.GetBytes($"{date}\n{resource}"));
        request.Headers.TryAddWithoutValidation(
            "Authorization", $"SharedKeyLite {settings["AccountName"]}:{Convert.ToBase64String(signature)}");
        return request;
    }

    private static Dictionary<string, string[]> ByAccount(IEnumerable<(string Domain, string Row, string[] Breaches)> rows) =>
        rows.GroupBy(row => $"{row.Row.Split('!')[0]}@{row.Domain}")
            .ToDictionary(account => account.Key, account => account.SelectMany(row => row.Breaches).Order().ToArray());
}
