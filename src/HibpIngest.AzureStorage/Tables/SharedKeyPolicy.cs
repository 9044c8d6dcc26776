using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using Azure.Core;
using Azure.Core.Pipeline;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Signs each try with the account key, the Table service's way
/// (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, "Table service (Shared Key
/// authorization)"): verb, Content-MD5, Content-Type, date, canonicalised resource; the other services' string
/// differs.
/// </summary>
internal sealed class SharedKeyPolicy(string account, byte[] key, TimeProvider clock) : HttpPipelineSynchronousPolicy
{
    public override void OnSendingRequest(HttpMessage message)
    {
        var request = message.Request;
        var date = clock.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
        request.Headers.SetValue("x-ms-date", date);
        var contentType = request.Headers.TryGetValue("Content-Type", out var type) ? type : "";
        request.Headers.SetValue("Authorization", Sign(account, key, request.Method.Method, contentType, date, request.Uri.ToUri()));
    }

    /// <summary>The Authorization header of a request.</summary>
    public static string Sign(string account, byte[] key, string method, string contentType, string date, Uri uri)
    {
        var component = uri.Query.Contains("comp=", StringComparison.Ordinal) ? Component(uri.Query) : "";
        var text = $"{method}\n\n{contentType}\n{date}\n/{account}{uri.AbsolutePath}{component}";

        Span<byte> signature = stackalloc byte[HMACSHA256.HashSizeInBytes];
        HMACSHA256.HashData(key, Encoding.UTF8.GetBytes(text), signature);
        return $"SharedKey {account}:{Convert.ToBase64String(signature)}";
    }

    /// <summary>Of the query, only comp is signed.</summary>
    private static string Component(string query)
    {
        foreach (var part in query.TrimStart('?').Split('&'))
        {
            if (part.StartsWith("comp=", StringComparison.Ordinal))
                return "?" + part;
        }

        return "";
    }
}
