using System.IO.Compression;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>Keeps what it gets in place of Application Insights (/v2.1/track: gzipped JSON lines) and OTLP (/v1/: protobuf).</summary>
internal sealed class TelemetryEndpoint : LocalServer
{
    private readonly ConcurrentQueue<(string Path, byte[] Body)> _got = new();
    private readonly ConcurrentQueue<string> _authorizations = new();

    /// <summary>The connection string for the Application Insights exporter.</summary>
    public string ConnectionString => $"InstrumentationKey=0d6a0f4b-6a0e-4d6e-8f5b-3a1c2b4d5e6f;IngestionEndpoint={Address}/";

    /// <summary>The address of the managed identity endpoint, and the header that it requires.</summary>
    public (string Address, string Header) Identity => ($"{Address}/token", "the app's own header");

    /// <summary>The Authorization headers of the received items.</summary>
    public IReadOnlyList<string> Authorizations => [.. _authorizations];

    /// <summary>Path and decompressed body of each request.</summary>
    public IReadOnlyList<(string Path, byte[] Body)> Got => [.. _got];

    public IReadOnlyList<TelemetryItem> Items =>
    [
        .. Got.Where(one => one.Path.EndsWith("/track", StringComparison.Ordinal))
            .SelectMany(one => Encoding.UTF8.GetString(one.Body).Split('\n', StringSplitOptions.RemoveEmptyEntries))
            .Select(line => new TelemetryItem(JsonDocument.Parse(line).RootElement)),
    ];

    public static Task<TelemetryEndpoint> StartAsync() => StartAsync(new TelemetryEndpoint());

    public IReadOnlyList<byte[]> Bodies(string path) => [.. Got.Where(one => one.Path == path).Select(one => one.Body)];

    protected override async Task AnswerAsync(HttpContext context)
    {
        if (context.Request.Path == "/token")
        {
            await AnswerTokenAsync(context);
            return;
        }
        _authorizations.Enqueue($"{context.Request.Headers.Authorization}");
        await using var content = context.Request.Headers.ContentEncoding == "gzip"
            ? new GZipStream(context.Request.Body, CompressionMode.Decompress) : context.Request.Body;
        var body = (await BinaryData.FromStreamAsync(content)).ToArray();
        var path = context.Request.Path.Value!;
        _got.Enqueue((path, body));
        if (path.EndsWith("/track", StringComparison.Ordinal))
        {
            var items = body.AsSpan().Trim((byte)'\n').Count((byte)'\n') + 1;
            await context.Response.WriteAsJsonAsync(new { itemsReceived = items, itemsAccepted = items, errors = Array.Empty<string>() });
        }
    }

    /// <summary>Implements learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference</summary>
    private Task AnswerTokenAsync(HttpContext context)
    {
        if (context.Request.Headers["X-IDENTITY-HEADER"] != Identity.Header)
        {
            context.Response.StatusCode = StatusCodes.Status401Unauthorized;
            return Task.CompletedTask;
        }
        var (resource, client) = ($"{context.Request.Query["resource"]}", $"{context.Request.Query["client_id"]}");
        return context.Response.WriteAsJsonAsync(new Dictionary<string, string>
        {
            ["access_token"] = $"token-of-{client}-for-{resource}",
            ["expires_on"] = "4102444800",
            ["resource"] = resource,
            ["token_type"] = "Bearer",
        });
    }
}

internal sealed class TelemetryItem(JsonElement envelope)
{
    private JsonElement Data => envelope.GetProperty("data").GetProperty("baseData");

    /// <summary>RequestData, RemoteDependencyData, MetricData, MessageData or ExceptionData.</summary>
    public string Kind => envelope.GetProperty("data").GetProperty("baseType").GetString()!;

    public string Name => Kind == "MetricData" ? Metric.GetProperty("name").GetString()! : Text(Data, "name");

    public double Value => Metric.GetProperty("value").GetDouble();

    public string Message => Text(Data, "message");

    /// <summary>The exceptions of a log line: type, message, and number of stack frames.</summary>
    public IEnumerable<(string Type, string Message, int Frames)> Exceptions =>
        Data.GetProperty("exceptions").EnumerateArray().Select(one => (
            Text(one, "typeName"), Text(one, "message"), one.TryGetProperty("parsedStack", out var stack) ? stack.GetArrayLength() : 0));

    public string Severity => Text(Data, "severityLevel");

    public bool Success => Data.GetProperty("success").GetBoolean();

    public string Id => Text(Data, "id");

    /// <summary>The trace id; empty: none.</summary>
    public string Operation => Text(envelope.GetProperty("tags"), "ai.operation.id");

    public string Parent => Text(envelope.GetProperty("tags"), "ai.operation.parentId");

    /// <summary>The role that sent the item, and its instance.</summary>
    public (string Role, string Instance) Sender =>
        (Text(envelope.GetProperty("tags"), "ai.cloud.role"), Text(envelope.GetProperty("tags"), "ai.cloud.roleInstance"));

    public string this[string property] => Data.TryGetProperty("properties", out var properties) ? Text(properties, property) : "";

    public bool IsSpan => Kind is "RequestData" or "RemoteDependencyData";

    private JsonElement Metric => Data.GetProperty("metrics")[0];

    private static string Text(JsonElement of, string property) =>
        of.TryGetProperty(property, out var value) ? value.GetString() ?? "" : "";
}
