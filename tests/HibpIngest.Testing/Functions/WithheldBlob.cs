using System.Net.Http.Headers;
using Azure.Storage.Blobs;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>A storage account in which reads of a blob that start at or after an offset hang until <see cref="Release"/>.</summary>
/// <param name="from">Reads that start here or later hang; the app reads half a megabyte at a time.</param>
internal sealed class WithheldBlob(string storage, string name, long from) : LocalServer
{
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Forwarder _forwarder = new();
    private readonly string _blobs = new BlobServiceClient(storage).Uri.GetLeftPart(UriPartial.Authority);

    /// <summary>Connection string of the account; queues and tables are reached directly.</summary>
    public string Storage => storage.Replace($"{_blobs}/", $"{Address}/", StringComparison.Ordinal);

    public static Task<WithheldBlob> StartAsync(string storage, string name, long from) =>
        StartAsync(new WithheldBlob(storage, name, from));

    public void Release() => _released.TrySetResult();

    public override async ValueTask DisposeAsync()
    {
        Release();
        await base.DisposeAsync();
        _forwarder.Dispose();
    }

    protected override async Task AnswerAsync(HttpContext context)
    {
        if (context.Request.Path.Value!.EndsWith($"/{name}", StringComparison.Ordinal) && FirstByte(context.Request) >= from)
            await _released.Task.WaitAsync(context.RequestAborted);
        await _forwarder.SendAsync(context, _blobs);
    }

    /// <returns>Null if no range is requested.</returns>
    private static long? FirstByte(HttpRequest request) =>
        RangeHeaderValue.TryParse(request.Headers["x-ms-range"].FirstOrDefault() ?? request.Headers.Range.FirstOrDefault(), out var range)
            ? range.Ranges.First().From : null;
}
