using System.Net.Http.Headers;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace HibpIngest.Testing;

/// <summary>
/// The requests that a Functions host sent to a handler, as they were on the wire (Host/*.json: method, url,
/// headers, body), with other values in them: same headers, chunked, strings quoted as often.
/// </summary>
internal static class HostRequests
{
    // The host escapes quotes as \", not as \u0022.
    private static readonly JsonSerializerOptions AsTheHost = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    public static HttpRequestMessage Probe(Uri handler) => Make(handler, "startup-probe", null, null);

    public static HttpRequestMessage Health(Uri handler) => Make(handler, "http-forwarded", null, null);

    public static HttpRequestMessage Timer(Uri handler, string function) => Make(handler, "timer", function, _ => { });

    /// <summary>
    /// A blob that was dropped: its address, and what <c>{name}</c> of the path <c>breach/{name}</c>
    /// matched.
    /// </summary>
    public static HttpRequestMessage Blob(Uri handler, string function, Uri blob, string name) =>
        Make(handler, "blob-deferred", function, body =>
    {
        body["Metadata"]!["Uri"] = Quote(blob.AbsoluteUri);
        body["Metadata"]!["name"] = Quote(name);
    });

    /// <summary>
    /// A queue message. The fields of one that is a JSON object are merged into the metadata, over the host's
    /// own.
    /// </summary>
    public static HttpRequestMessage Message(Uri handler, string function, string text, string id, long dequeueCount) =>
        Make(handler, "queue", function, body =>
    {
        body["Data"]!["message"] = Quote(text);
        var metadata = body["Metadata"]!.AsObject();
        foreach (var merged in new[] { "version", "load", "slice", "first", "last", "traceparent" })
            metadata.Remove(merged);
        metadata["Id"] = Quote(id);
        metadata["DequeueCount"] = dequeueCount.ToString(System.Globalization.CultureInfo.InvariantCulture);
        if (Parse(text) is JsonObject fields)
        {
            foreach (var (name, value) in fields)
                metadata[name] = Quote(value?.ToString() ?? "");
        }
    });

    private static HttpRequestMessage Make(Uri handler, string kind, string? function, Action<JsonNode>? change)
    {
        var recorded = JsonNode.Parse(File.ReadAllText(RepositoryFile.Path($"tests/HibpIngest.Testing/Functions/Host/{kind}.json")))!;
        var request = new HttpRequestMessage(
            HttpMethod.Parse((string)recorded["method"]!), new Uri(handler, function is null ? (string)recorded["url"]! : $"/{function}"));
        if (change is not null)
        {
            var body = JsonNode.Parse((string)recorded["body"]!)!;
            body["Metadata"]!["sys"]!["MethodName"] = function;
            change(body);
            request.Content = new ByteArrayContent(Encoding.UTF8.GetBytes(body.ToJsonString(AsTheHost)));
        }
        foreach (var header in recorded["headers"]!.AsArray())
        {
            var (name, value) = ((string)header![0]!, (string)header[1]!);
            switch (name)
            {
                case "Host":
                    break; // of where it listens now
                case "Transfer-Encoding":
                    request.Headers.TransferEncodingChunked = true;
                    break;
                case "Content-Type":
                    request.Content!.Headers.ContentType = MediaTypeHeaderValue.Parse(value);
                    break;
                case "X-Azure-Functions-InvocationId":
                    request.Headers.Add(name, Guid.NewGuid().ToString());
                    break;
                default:
                    request.Headers.TryAddWithoutValidation(name, value);
                    break;
            }
        }
        return request;
    }

    private static string Quote(string text) => JsonSerializer.Serialize(text, AsTheHost);

    private static JsonNode? Parse(string text)
    {
        try
        {
            return JsonNode.Parse(text);
        }
        catch (JsonException)
        {
            return null;
        }
    }
}
