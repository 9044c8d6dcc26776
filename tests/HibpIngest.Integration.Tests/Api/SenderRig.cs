using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>The API over an empty storage account of its own, and a sender with a key that submits passwords.</summary>
internal sealed class SenderRig : IAsyncDisposable
{
    public const string KeyHeader = "Ocp-Apim-Subscription-Key";

    private readonly StorageAccount _account;
    private bool _isStopped;

    private SenderRig(string connection, WebRig web, string key) =>
        (Connection, _account, Web, Key) = (connection, StorageAccount.Open(connection, NullLoggerFactory.Instance), web, key);

    public string Connection { get; }

    public WebRig Web { get; }

    public string Key { get; }

    public IPasswordAppends Appends => _account.PasswordAppends;

    public IMessageQueue Queue => _account.Queues.Get(QueueNames.PasswordsAppend);

    public static async Task<SenderRig> StartAsync(
        bool isOpen = false, Action<IServiceCollection>? replaceServices = null, ILoggerFactory? logs = null, TimeProvider? time = null,
        PasswordOptions? passwords = null)
    {
        var connection = await AzuriteFixture.NewAccountAsync();
        var web = await WebRig.StartAsync(
            connection, isOpen, logs: logs, time: time, replaceServices: replaceServices, passwords: passwords);
        return new SenderRig(connection, web, await web.AddKeyAsync("sender", KeyScopes.Append));
    }

    /// <summary>Makes items to send, always the same.</summary>
    public static string Items(int count) => $"[{string.Join(',', Enumerable.Range(0, count).Select(i =>
    {
        var word = BitConverter.GetBytes(i);
        var (sha1, ntlm) = (Convert.ToHexString(SHA1.HashData(word)), Convert.ToHexString(MD5.HashData(word)));
        return $$"""{"sha1":"{{sha1}}","ntlm":"{{ntlm}}","num":{{i + 1}}}""";
    }))}]";

    /// <summary>Returns the head of a request to append a body of this length.</summary>
    public string Head(long length) =>
        $"POST /append HTTP/1.1\r\nHost: x\r\n{KeyHeader}: {Key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n";

    public static HttpContent Json(string text, string type = "application/json") =>
        Content(new ByteArrayContent(Encoding.UTF8.GetBytes(text)), type);

    /// <summary>Makes content without a Content-Length.</summary>
    public static HttpContent Chunked(byte[] bytes) => Content(new UnknownLength(bytes), "application/json");

    public Task<WebReply> AppendAsync(string json, string? key = null, string path = "/ingestion/append") =>
        PostAsync(path, Json(json), (KeyHeader, key ?? Key));

    public Task<WebReply> ConfirmAsync(string id, string path = "/ingestion/append/confirm") =>
        PostAsync(path, Json($$"""{"transactionId":"{{id}}"}"""), (KeyHeader, Key));

    public Task<WebReply> PostAsync(string path, HttpContent content, params (string Name, string Value)[] headers) =>
        Web.SendAsync("POST", path, content, key: null, agent: null, headers);

    public static string IdOf(WebReply reply)
    {
        Assert.True(reply.Status == 200, reply.ToString());
        return reply.Json.GetProperty("transactionId").GetString()!;
    }

    public async Task<AppendTransaction> FindAsync(string id, string? key = null) =>
        (await Appends.FindAsync(key is "open" ? key : ApiKey.HashOf(key ?? Key), Guid.Parse(id), None))!;

    public async Task<IReadOnlyList<AppendTransaction>> ListAsync() => await Appends.ListAsync(None).ToListAsync();

    /// <summary>Returns the bodies of the messages that were sent.</summary>
    public async Task<IReadOnlyList<string>> MessagesAsync()
    {
        await Queue.CreateAsync(None);
        return [.. (await Queue.PeekAsync(32, None)).Select(message => message.Body)];
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
        _account.Dispose();
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
