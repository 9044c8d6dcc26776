using HibpIngest.Api.AccessLog;

namespace HibpIngest.Testing;

internal sealed record FoundRecord(string Blob, Guid Instance, ulong Number, string Route, AccessRecord Record);

internal static class AccessLogContents
{
    public static async Task<IReadOnlyList<FoundRecord>> ReadAsync(IAccessBlobs blobs)
    {
        var found = new List<FoundRecord>();
        await foreach (var blob in blobs.ListAsync(CancellationToken.None))
        {
            await using var stream = await blobs.OpenAsync(blob.Name, 0, CancellationToken.None);
            await AccessLogReader.ReadAsync(
                stream!, (Guid instance, ulong number, string route, in AccessRecord record) =>
                    found.Add(new FoundRecord(blob.Name, instance, number, route, record)), CancellationToken.None);
        }
        return found;
    }
}
