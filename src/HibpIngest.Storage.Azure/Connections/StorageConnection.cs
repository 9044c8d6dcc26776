using System.Net;
using System.Text.RegularExpressions;

namespace HibpIngest.Storage.Azure.Connections;

/// <summary>
/// A parsed storage connection: a storage connection string, <c>UseDevelopmentStorage=true</c>, an account's blob endpoint or an account's
/// name. Errors name the faulty part and never repeat the text, which may hold a key.
/// </summary>
internal sealed partial class StorageConnection(string account, Uri blobs, Uri queues, Uri tables, byte[]? key, string? sas)
{
    /// <summary>The emulator's well-known account (learn.microsoft.com/azure/storage/common/storage-use-azurite): no secret.</summary>
    public const string EmulatorAccount = "devstoreaccount1";
    public const string EmulatorKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    private const string PublicSuffix = "core.windows.net";
    private const string Expected = "expected a storage connection string (AccountName=...;AccountKey=...), UseDevelopmentStorage=true, "
        + "or an account as https://NAME.blob.core.windows.net";

    // Preparing a key takes as long as signing with it. One for each thread: an instance signs one text at a time.
    private readonly ThreadLocal<IncrementalHash> _signer = new(() => IncrementalHash.CreateHMAC(HashAlgorithmName.SHA256, key!));

    public string Account => account;

    // Service endpoints, without a slash at the end.
    public Uri Blobs => blobs;

    public Uri Queues => queues;

    public Uri Tables => tables;

    public byte[]? Key => key;

    /// <summary>A shared access signature without its question mark; null if a key or a token is used.</summary>
    public string? Sas => sas;

    public string Query => sas is null ? "" : $"?{sas}";

    public bool IsEmulator => string.Equals(Account, EmulatorAccount, StringComparison.Ordinal) && IsLoopback;

    public bool IsLoopback => Tables.IsLoopback;

    /// <summary>Returns the Authorization header for a string to sign. The connection must have a key.</summary>
    public string Sign(string text)
    {
        var signer = _signer.Value!;
        signer.AppendData(Encoding.UTF8.GetBytes(text));
        Span<byte> signature = stackalloc byte[HMACSHA256.HashSizeInBytes];
        signer.GetHashAndReset(signature);
        return $"SharedKey {account}:{Convert.ToBase64String(signature)}";
    }

    public static StorageConnection Parse(string connection)
    {
        var text = connection.Trim();
        if (text.Length == 0)
            throw new BadInputException($"the storage connection is empty: {Expected}");
        if (AccountName().IsMatch(text))
            return FromBlobEndpoint(new Uri($"https://{text}.blob.{PublicSuffix}"));
        if (text.StartsWith("https://", StringComparison.OrdinalIgnoreCase) && !text.Contains(';', StringComparison.Ordinal))
        {
            if (!Uri.TryCreate(text, UriKind.Absolute, out var endpoint) || endpoint.Query.Length > 0 || endpoint.AbsolutePath != "/"
                || !endpoint.Host.Contains(".blob.", StringComparison.OrdinalIgnoreCase))
                throw new BadInputException($"the storage account's address is not a valid URL: {Expected}");
            return FromBlobEndpoint(endpoint);
        }
        return FromParts(Split(text));
    }

    private static StorageConnection FromBlobEndpoint(Uri blobs)
    {
        var host = blobs.Host;
        var dot = host.IndexOf(".blob.", StringComparison.OrdinalIgnoreCase);
        var (account, suffix) = (host[..dot], host[(dot + 6)..]);
        return new(
            account, new($"https://{account}.blob.{suffix}"), new($"https://{account}.queue.{suffix}"),
            new($"https://{account}.table.{suffix}"), null, null);
    }

    private static Dictionary<string, string> Split(string text)
    {
        var parts = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        foreach (var part in text.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            var equals = part.IndexOf('=', StringComparison.Ordinal);
            if (equals <= 0)
                throw new BadInputException($"the storage connection has a part without name or '=': {Expected}");
            var name = part[..equals];
            if (!KnownPart(name))
                throw new BadInputException(
                    $"the storage connection has an unknown part{(PlainName().IsMatch(name) ? $" '{name}'" : "")}: {Expected}");
            if (!parts.TryAdd(name, part[(equals + 1)..]))
                throw new BadInputException($"the storage connection has '{name}' twice: remove one");
        }
        return parts;
    }

    private static bool KnownPart(string name) =>
        name.ToUpperInvariant() is "USEDEVELOPMENTSTORAGE" or "DEVELOPMENTSTORAGEPROXYURI" or "DEFAULTENDPOINTSPROTOCOL" or "ACCOUNTNAME"
        or "ACCOUNTKEY" or "ENDPOINTSUFFIX" or "SHAREDACCESSSIGNATURE" or "BLOBENDPOINT" or "QUEUEENDPOINT"
        or "TABLEENDPOINT" or "FILEENDPOINT" or "DFSENDPOINT" or "WEBENDPOINT"
        or "BLOBSECONDARYENDPOINT" or "QUEUESECONDARYENDPOINT" or "TABLESECONDARYENDPOINT" or "FILESECONDARYENDPOINT";

    private static StorageConnection FromParts(Dictionary<string, string> parts)
    {
        if (parts.TryGetValue("UseDevelopmentStorage", out var development))
        {
            if (!bool.TryParse(development, out var wanted) || !wanted)
                throw new BadInputException("the storage connection's UseDevelopmentStorage can only be true");
            var proxy = parts.TryGetValue("DevelopmentStorageProxyUri", out var proxyText)
                ? Endpoint("DevelopmentStorageProxyUri", proxyText) : new Uri("http://127.0.0.1");
            Uri At(int port) => new UriBuilder(proxy.Scheme, proxy.Host, port, EmulatorAccount).Uri;
            return new(EmulatorAccount, At(10000), At(10001), At(10002), Convert.FromBase64String(EmulatorKey), null);
        }
        var protocol = parts.GetValueOrDefault("DefaultEndpointsProtocol", "https");
        if (protocol is not ("http" or "https"))
            throw new BadInputException("the storage connection's DefaultEndpointsProtocol: expected http or https");
        var account = parts.GetValueOrDefault("AccountName", "");
        if (account.Length > 0 && !AccountName().IsMatch(account))
            throw new BadInputException(
                "the storage connection's AccountName is malformed: expected 3 to 24 lower-case letters and digits");
        var (blobs, queues, tables) =
            (Service("BlobEndpoint", "blob"), Service("QueueEndpoint", "queue"), Service("TableEndpoint", "table"));
        if (account.Length == 0)
            account = NameIn(blobs);
        if (parts.TryGetValue("SharedAccessSignature", out var sas))
        {
            sas = sas.TrimStart('?');
            if (!sas.Contains("sig=", StringComparison.Ordinal))
                throw new BadInputException("the storage connection's SharedAccessSignature has no signature (sig=)");
            // The client library refuses http too: anyone listening could reuse the signature.
            if (tables.Scheme == Uri.UriSchemeHttp && !tables.IsLoopback)
                throw new BadInputException("the storage connection's SharedAccessSignature needs a TableEndpoint with https");
            return new(account, blobs, queues, tables, null, sas);
        }
        if (!parts.TryGetValue("AccountKey", out var keyText))
            throw new BadInputException($"the storage connection has neither AccountKey nor SharedAccessSignature: {Expected}");
        if (!parts.ContainsKey("AccountName"))
            throw new BadInputException("the storage connection has an AccountKey but no AccountName: add AccountName=NAME");
        var key = new byte[(keyText.Length * 3 / 4) + 3];
        if (!Convert.TryFromBase64String(keyText, key, out var length) || length == 0)
            throw new BadInputException("the storage connection's AccountKey is not base64 (was it cut off?)");
        return new(account, blobs, queues, tables, key[..length], null);

        Uri Service(string part, string service) =>
            parts.TryGetValue(part, out var given) ? Endpoint(part, given)
            : account.Length == 0 ? throw new BadInputException($"the storage connection has neither AccountName nor {part}: {Expected}")
            : Endpoint("EndpointSuffix", $"{protocol}://{account}.{service}.{parts.GetValueOrDefault("EndpointSuffix", PublicSuffix)}");
    }

    private static Uri Endpoint(string part, string text)
    {
        if (!Uri.TryCreate(text.TrimEnd('/'), UriKind.Absolute, out var uri) || uri.Scheme is not ("http" or "https")
            || uri.Query.Length > 0 || uri.UserInfo.Length > 0)
            throw new BadInputException($"the storage connection's {part} is not an address of a service");
        return uri;
    }

    /// <summary>Accepts https://NAME.blob... and http://127.0.0.1:10000/NAME.</summary>
    private static string NameIn(Uri endpoint) =>
        endpoint.HostNameType == UriHostNameType.Dns && endpoint.Host.Contains('.', StringComparison.Ordinal)
        ? endpoint.Host.Split('.')[0] : WebUtility.UrlDecode(endpoint.AbsolutePath.Trim('/'));

    [GeneratedRegex("^[a-z0-9]{3,24}$", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex AccountName();

    [GeneratedRegex("^[A-Za-z]{1,40}$", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex PlainName();
}
