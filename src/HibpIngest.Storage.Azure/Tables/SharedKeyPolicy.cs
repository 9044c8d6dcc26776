using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using Azure.Core;
using Azure.Core.Pipeline;

namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// Signs each attempt of a transaction with the account key
/// (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, "Table service (Shared Key authorization)"): verb,
/// Content-MD5, Content-Type, date, canonicalised resource. The library's own policy is internal.
/// </summary>
internal sealed class SharedKeyPolicy(string account, byte[] key, TimeProvider clock) : HttpPipelineSynchronousPolicy
{
    public override void OnSendingRequest(HttpMessage message)
    {
        var date = clock.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
        message.Request.Headers.SetValue("x-ms-date", date);
        message.Request.Headers.SetValue(
            "Authorization", Sign(account, key, "POST", TableTransaction.ContentType, date, message.Request.Uri.ToUri()));
    }

    public static string Sign(string account, byte[] key, string method, string contentType, string date, Uri address)
    {
        var text = $"{method}\n\n{contentType}\n{date}\n/{account}{address.AbsolutePath}";
        Span<byte> signature = stackalloc byte[HMACSHA256.HashSizeInBytes];
        HMACSHA256.HashData(key, Encoding.UTF8.GetBytes(text), signature);
        return $"SharedKey {account}:{Convert.ToBase64String(signature)}";
    }
}
