using System.Net.Http.Headers;
using Azure.Storage.Blobs;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Yarp.ReverseProxy.Forwarder;

namespace HibpIngest.Testing;

/// <summary>A storage account in which reads of a blob that start at or after an offset hang until <see cref="Release"/>.</summary>
internal sealed class WithheldBlob : IAsyncDisposable
{
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly HttpMessageInvoker _client = new(new SocketsHttpHandler
    {
        AllowAutoRedirect = false,
        UseCookies = false,
        UseProxy = false,
        ActivityHeadersPropagator = null,
    });
    private readonly WebApplication _front;

    private WithheldBlob(string blobService, string name, long from)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        builder.Services.AddLogging().AddHttpForwarder();
        _front = builder.Build();
        var forwarder = _front.Services.GetRequiredService<IHttpForwarder>();
        _front.Run(async context =>
        {
            if (context.Request.Path.Value!.EndsWith($"/{name}", StringComparison.Ordinal) && FirstByte(context.Request) >= from)
                await _released.Task.WaitAsync(context.RequestAborted);
            await forwarder.SendAsync(context, blobService, _client, ForwarderRequestConfig.Empty, HttpTransformer.Default);
        });
    }

    /// <summary>Connection string of the account; queues and tables are reached directly.</summary>
    public string Storage { get; private set; } = "";

    /// <param name="storage">Connection string of the real account.</param>
    /// <param name="name">The blob's name.</param>
    /// <param name="from">Reads that start here or later hang; the app reads half a megabyte at a time.</param>
    public static async Task<WithheldBlob> StartAsync(string storage, string name, long from)
    {
        var blobService = new BlobServiceClient(storage).Uri.GetLeftPart(UriPartial.Authority);
        var withheld = new WithheldBlob(blobService, name, from);
        await withheld._front.StartAsync();
        withheld.Storage = storage.Replace($"{blobService}/", $"{withheld._front.Urls.First()}/", StringComparison.Ordinal);
        return withheld;
    }

    public void Release() => _released.TrySetResult();

    public async ValueTask DisposeAsync()
    {
        Release();
        await _front.DisposeAsync();
        _client.Dispose();
    }

    /// <returns>Null if no range is requested.</returns>
    private static long? FirstByte(HttpRequest request) =>
        RangeHeaderValue.TryParse(request.Headers["x-ms-range"].FirstOrDefault() ?? request.Headers.Range.FirstOrDefault(), out var range)
            ? range.Ranges.First().From : null;
}
