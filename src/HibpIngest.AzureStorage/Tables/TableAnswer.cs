using System.Text.Json;
using Azure.Core;
using HibpIngest.Errors;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>An answer of the Table service, with its body.</summary>
internal sealed class TableAnswer(HttpMessage message) : IDisposable
{
    public int Status => message.Response.Status;

    /// <summary>The service's error code; empty where there is none.</summary>
    public string Code
    {
        get
        {
            var code = Header("x-ms-error-code");
            return code.Length > 0 || !message.Response.IsError ? code : ODataError.Parse(message.Response.Content.ToMemory().Span).Code;
        }
    }

    public string Header(string name) => message.Response.Headers.TryGetValue(name, out var value) ? value : "";

    public void ThrowUnlessSuccess(string operation)
    {
        if (Status is < 200 or >= 300)
            throw StorageErrors.FromStatus(operation, Status, Code);
    }

    /// <summary>Until it is disposed.</summary>
    public ReadOnlyMemory<byte> Bytes => message.Response.Content.ToMemory();

    public JsonElement Json(string operation)
    {
        try
        {
            return JsonElement.Parse(message.Response.Content.ToMemory().Span);
        }
        catch (JsonException)
        {
            throw Malformed(operation);
        }
    }

    public static HibpException Malformed(string operation) =>
        new StoreUnavailableException($"{operation} failed: the answer is not one of the table service (is something between?)");

    public void Dispose() => message.Dispose();
}
