using System.Text.Json;
using HibpIngest.Lookup;

namespace HibpIngest.Web;

/// <summary>Accounts by the beginning of their hash.</summary>
internal sealed class RangeEndpoints(BreachedRanges ranges)
{
    private static readonly ErrorAnswer BadPrefix = new(400, "Invalid hex prefix");
    private static readonly ErrorAnswer NoHashes = new(404, "There are no hashes beginning with that prefix");

    /// <summary><c>GET /api/v3/breachedaccount/range/{prefix}</c>: what is wrong is said in plain text.</summary>
    public Task BreachedAccountRangeAsync(WebCall call) => AnswerAsync(call, asText: true);

    /// <summary>
    /// <c>GET /enterprise/range/search/{prefix}</c>: all in JSON, which its clients parse before they look at the status.
    /// </summary>
    public Task EnterpriseSearchAsync(WebCall call) => AnswerAsync(call, asText: false);

    private async Task AnswerAsync(WebCall call, bool asText)
    {
        if (call.Parameter.Length != BreachedRanges.PrefixDigits || !call.Parameter.All(char.IsAsciiHexDigit))
        {
            await (BadPrefix with { AsText = asText }).WriteAsync(call.Response);
            return;
        }
        var found = await ranges.FindAsync(call.Parameter.ToUpperInvariant(), call.Aborted);
        if (found.Count == 0)
        {
            await (NoHashes with { AsText = asText }).WriteAsync(call.Response);
            return;
        }
        await JsonAnswer.WriteAsync(call.Response, writer =>
        {
            writer.WriteStartArray();
            foreach (var (suffix, breaches) in found)
            {
                writer.WriteStartObject();
                writer.WriteString("hashSuffix"u8, suffix);
                writer.WriteStartArray("websites"u8);
                foreach (var breach in breaches)
                    writer.WriteStringValue(breach.Model.Name);
                writer.WriteEndArray();
                writer.WriteEndObject();
            }
            writer.WriteEndArray();
        });
    }
}
