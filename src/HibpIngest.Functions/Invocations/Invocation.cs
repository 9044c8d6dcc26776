using System.Text.Json;
using HibpIngest.Errors;

namespace HibpIngest.Functions;

/// <summary>
/// A call of a function as the host posts it: <c>{"Data":{binding: value},"Metadata":{...}}</c>. Of Metadata
/// only what a message can't forge is used: the host merges the fields of a queue message that is a JSON object
/// into it, over its own.
/// </summary>
internal sealed class Invocation(JsonDocument request) : IDisposable
{
    /// <summary>
    /// Bytes of a request at the most: a queue message of 64 KiB whose quotes are escaped twice, and again as
    /// metadata. A blob's content is not among what is expected.
    /// </summary>
    public const int MaxBytes = 1024 * 1024;

    /// <summary>
    /// Characters of a queue message at the most; what the service takes
    /// (learn.microsoft.com/azure/storage/queues/scalability-targets).
    /// </summary>
    public const int MaxMessageChars = 64 * 1024;

    /// <summary>Reads a request's body, up to <see cref="MaxBytes"/>.</summary>
    /// <exception cref="BadInputException">It is no call of a function, or larger.</exception>
    public static async Task<Invocation> ReadAsync(HttpRequest request, CancellationToken cancellationToken)
    {
        if (!request.HasJsonContentType())
            throw Unexpected("content of type application/json");
        JsonDocument document;
        try
        {
            document = await JsonDocument.ParseAsync(request.Body, default, cancellationToken);
        }
        catch (JsonException)
        {
            throw Unexpected("JSON");
        }
        catch (BadHttpRequestException e) when (e.StatusCode == StatusCodes.Status413PayloadTooLarge)
        {
            throw Unexpected($"at most {MaxBytes} bytes (with a blob's content in it? function.json has to ask for deferred binding)");
        }
        catch (BadHttpRequestException)
        {
            throw Unexpected("a whole request");
        }
        if (document.RootElement.ValueKind == JsonValueKind.Object)
            return new Invocation(document);
        document.Dispose();
        throw Unexpected("a JSON object");
    }

    /// <summary>The message of a queueTrigger whose binding is called message: a JSON string that holds a JSON string.</summary>
    /// <exception cref="BadInputException">There is none, or it is longer than a queue's messages are.</exception>
    public string QueueMessage()
    {
        var message = Unquote(Require("message", JsonValueKind.String).GetString()!, "Data.message");
        return message.Length <= MaxMessageChars ? message : throw Unexpected($"a message of at most {MaxMessageChars} characters");
    }

    /// <summary>
    /// The blob's name within the container, of a blobTrigger whose binding is called blob and whose path is
    /// <c>container/{name}</c>.
    /// </summary>
    /// <exception cref="BadInputException">There is none.</exception>
    public string BlobName(string container)
    {
        Require("blob", JsonValueKind.Object);
        var name = Unquote(Metadata("name"), "Metadata.name");
        // The two are made of one path: where they differ, this program misreads its host.
        var uri = Unquote(Metadata("Uri"), "Metadata.Uri");
        return Uri.TryCreate(uri, UriKind.Absolute, out var address)
            && Uri.UnescapeDataString(address.AbsolutePath).EndsWith($"/{container}/{name}", StringComparison.Ordinal)
            ? name
            : throw Unexpected($"a blob of container {container} whose Metadata.name and Metadata.Uri agree");
    }

    /// <summary>The value of a binding.</summary>
    /// <exception cref="BadInputException">There is none of that kind.</exception>
    public JsonElement Require(string binding, JsonValueKind kind) =>
        request.RootElement.TryGetProperty("Data", out var data) && data.ValueKind == JsonValueKind.Object
        && data.TryGetProperty(binding, out var value) && value.ValueKind == kind
            ? value
            : throw Unexpected($"{(kind == JsonValueKind.String ? "text" : "an object")} in Data.{binding}");

    public void Dispose() => request.Dispose();

    private string Metadata(string name) =>
        request.RootElement.TryGetProperty("Metadata", out var metadata) && metadata.ValueKind == JsonValueKind.Object
            && metadata.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String
            ? value.GetString()!
            : throw Unexpected($"text in Metadata.{name}");

    private static string Unquote(string quoted, string where)
    {
        try
        {
            using var inner = JsonDocument.Parse(quoted);
            if (inner.RootElement.ValueKind == JsonValueKind.String)
                return inner.RootElement.GetString()!;
        }
        catch (Exception e) when (e is JsonException or InvalidOperationException)
        {
            // Not JSON, or text with half a surrogate pair: said below, without repeating it.
        }
        throw Unexpected($"a JSON string within {where}");
    }

    private static BadInputException Unexpected(string expected) =>
        new($"the request is not what the Functions host sends: {expected} was expected");
}
