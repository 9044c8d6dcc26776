using System.Net.Http.Headers;
using Azure.Storage.Blobs;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>A storage account in which reads of a blob that start at or after an offset hang until <see cref="Release"/>.</summary>
internal sealed class WithheldBlob : IAsyncDisposable
{
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Forwarder _forwarder = new();
    private LocalServer _front = null!;

    private WithheldBlob()
    {
    }

    /// <summary>Connection string of the account; queues and tables are reached directly.</summary>
    public string Storage { get; private set; } = "";

    /// <param name="from">Reads that start here or later hang; the app reads half a megabyte at a time.</param>
    public static async Task<WithheldBlob> StartAsync(string storage, string name, long from)
    {
        var blobService = new BlobServiceClient(storage).Uri.GetLeftPart(UriPartial.Authority);
        var withheld = new WithheldBlob();
        withheld._front = await LocalServer.StartAsync(async context =>
        {
            if (context.Request.Path.Value!.EndsWith($"/{name}", StringComparison.Ordinal) && FirstByte(context.Request) >= from)
                await withheld._released.Task.WaitAsync(context.RequestAborted);
            await withheld._forwarder.SendAsync(context, blobService);
        });
        withheld.Storage = storage.Replace($"{blobService}/", $"{withheld._front.Address}/", StringComparison.Ordinal);
        return withheld;
    }

    public void Release() => _released.TrySetResult();

    public async ValueTask DisposeAsync()
    {
        Release();
        await _front.DisposeAsync();
        _forwarder.Dispose();
    }

    /// <returns>Null if no range is requested.</returns>
    private static long? FirstByte(HttpRequest request) =>
        RangeHeaderValue.TryParse(request.Headers["x-ms-range"].FirstOrDefault() ?? request.Headers.Range.FirstOrDefault(), out var range)
            ? range.Ranges.First().From : null;
}
