using System.Globalization;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

namespace HibpIngest.Tests.EndToEnd;

/// <summary>Reads a whole table over bare HTTP, signing by SharedKeyLite: shares nothing with the product's table client.</summary>
internal static class RawTable
{
    /// <summary>Every entity: its domain, its row key, and the names of its b* properties.</summary>
    public static async Task<List<(string Domain, string Row, string[] Breaches)>> ReadAsync(string connectionString, string table)
    {
        var settings = connectionString.Split(';', StringSplitOptions.RemoveEmptyEntries).Select(pair => pair.Split('=', 2)).ToDictionary(pair => pair[0], pair => pair[1]);
        var endpoint = new Uri(settings["TableEndpoint"]);
        using var http = new HttpClient();
        var rows = new List<(string, string, string[])>();
        var next = "";
        do
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, $"{endpoint}/{table}(){next}");
            var date = TimeProvider.System.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
            request.Headers.Add("x-ms-date", date);
            request.Headers.Add("x-ms-version", "2019-02-02");
            request.Headers.Accept.Add(MediaTypeWithQualityHeaderValue.Parse("application/json;odata=nometadata"));
            var resource = $"/{settings["AccountName"]}{endpoint.AbsolutePath}/{table}()";
            var signature = HMACSHA256.HashData(Convert.FromBase64String(settings["AccountKey"]), Encoding.UTF8.GetBytes($"{date}\n{resource}"));
            request.Headers.TryAddWithoutValidation("Authorization", $"SharedKeyLite {settings["AccountName"]}:{Convert.ToBase64String(signature)}");
            using var response = await http.SendAsync(request);
            response.EnsureSuccessStatusCode();
            using var page = JsonDocument.Parse(await response.Content.ReadAsStreamAsync());
            foreach (var entity in page.RootElement.GetProperty("value").EnumerateArray())
            {
                rows.Add((entity.GetProperty("PartitionKey").GetString()!, entity.GetProperty("RowKey").GetString()!,
                    [.. entity.EnumerateObject().Where(property => property.Name[0] == 'b' && property.Value.ValueKind == JsonValueKind.True).Select(property => property.Name).Order()]));
            }
            next = response.Headers.TryGetValues("x-ms-continuation-NextPartitionKey", out var partition)
                ? $"?NextPartitionKey={Uri.EscapeDataString(partition.Single())}"
                    + (response.Headers.TryGetValues("x-ms-continuation-NextRowKey", out var row) ? $"&NextRowKey={Uri.EscapeDataString(row.Single())}" : "")
                : "";
        }
        while (next.Length > 0);
        return rows;
    }

    /// <summary>Each account with the breaches it carries, over all its rows.</summary>
    public static async Task<Dictionary<string, string[]>> ReadAccountsAsync(string connectionString, string table) =>
        (await ReadAsync(connectionString, table))
            .GroupBy(row => $"{row.Row.Split('!')[0]}@{row.Domain}")
            .ToDictionary(account => account.Key, account => account.SelectMany(row => row.Breaches).Order().ToArray());
}
