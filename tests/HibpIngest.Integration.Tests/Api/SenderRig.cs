using System.Net;
using System.Security.Cryptography;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using HibpIngest.Storage.Azure;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>The API over an empty storage account of its own, and a sender with a key that submits passwords.</summary>
internal sealed class SenderRig : IAsyncDisposable
{
    public const string KeyHeader = "Ocp-Apim-Subscription-Key";

    private bool _isStopped;

    private SenderRig(string connection, WebRig web, string key)
    {
        (Connection, Web, Key) = (connection, web, key);
        Account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
    }

    public string Connection { get; }

    public StorageAccount Account { get; }

    public WebRig Web { get; }

    public string Key { get; }

    public IPasswordAppends Appends => Account.PasswordAppends;

    public IMessageQueue Queue => Account.Queues.Get(QueueNames.PasswordsAppend);

    public static async Task<SenderRig> StartAsync(
        bool isOpen = false, Action<IServiceCollection>? replaceServices = null, ILoggerFactory? logs = null, TimeProvider? time = null,
        PasswordOptions? passwords = null)
    {
        var connection = await AzuriteFixture.NewAccountAsync();
        var web = await WebRig.StartAsync(
            connection, isOpen, logs: logs, time: time, replaceServices: replaceServices, passwords: passwords);
        return new SenderRig(connection, web, await web.AddKeyAsync("sender", KeyScopes.Append));
    }

    /// <summary>Makes items to send; the same seed gives the same items.</summary>
    public static string Items(int count, int seed = 1) => $"[{string.Join(',', Enumerable.Range(0, count).Select(i =>
    {
        var word = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{seed} {i}"));
        var (sha1, ntlm) = (Convert.ToHexString(SHA1.HashData(word)), Convert.ToHexString(MD5.HashData(word)));
        return $$"""{"sha1":"{{sha1}}","ntlm":"{{ntlm}}","num":{{i + 1}}}""";
    }))}]";

    public static HttpContent Json(string text, string type = "application/json") =>
        Content(new ByteArrayContent(Encoding.UTF8.GetBytes(text)), type);

    /// <summary>Makes content without a Content-Length.</summary>
    public static HttpContent Chunked(byte[] bytes) => Content(new UnknownLength(bytes), "application/json");

    public Task<WebReply> AppendAsync(string json, string? key = null, string path = "/ingestion/append") =>
        PostAsync(path, Json(json), (KeyHeader, key ?? Key));

    public Task<WebReply> ConfirmAsync(string id, string? key = null, string path = "/ingestion/append/confirm") =>
        PostAsync(path, Json($$"""{"transactionId":"{{id}}"}"""), (KeyHeader, key ?? Key));

    public async Task<WebReply> PostAsync(string path, HttpContent content, params (string Name, string Value)[] headers)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, new Uri(Web.Address, path)) { Content = content };
        foreach (var (name, value) in headers)
            request.Headers.TryAddWithoutValidation(name, value);
        using var response = await Web.Client.SendAsync(request);
        return new WebReply(
            (int)response.StatusCode,
            response.Headers.Concat(response.Content.Headers).ToDictionary(
                header => header.Key, header => string.Join(", ", header.Value), StringComparer.OrdinalIgnoreCase),
            await response.Content.ReadAsByteArrayAsync());
    }

    public static string IdOf(WebReply reply)
    {
        Assert.True(reply.Status == 200, reply.ToString());
        return reply.Json.GetProperty("transactionId").GetString()!;
    }

    public async Task<AppendTransaction> FindAsync(string id, string? key = null) =>
        (await Appends.FindAsync(key is "open" ? key : ApiKey.HashOf(key ?? Key), Guid.Parse(id), CancellationToken.None))!;

    public async Task<IReadOnlyList<AppendTransaction>> ListAsync()
    {
        var all = new List<AppendTransaction>();
        await foreach (var one in Appends.ListAsync(CancellationToken.None))
            all.Add(one);
        return all;
    }

    /// <summary>Returns the bodies of the messages that were sent.</summary>
    public async Task<IReadOnlyList<string>> MessagesAsync()
    {
        await Queue.CreateAsync(CancellationToken.None);
        return [.. (await Queue.PeekAsync(32, CancellationToken.None)).Select(message => message.Body)];
    }

    /// <summary>Completes pending work, then stops the server.</summary>
    public async Task StopAsync()
    {
        if (!_isStopped)
            await Web.DisposeAsync();
        _isStopped = true;
    }

    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        Account.Dispose();
    }

    private static HttpContent Content(HttpContent content, string type)
    {
        content.Headers.TryAddWithoutValidation("Content-Type", type);
        return content;
    }

    private sealed class UnknownLength(byte[] bytes) : HttpContent
    {
        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) => stream.WriteAsync(bytes).AsTask();

        protected override bool TryComputeLength(out long length)
        {
            length = 0;
            return false;
        }
    }
}
