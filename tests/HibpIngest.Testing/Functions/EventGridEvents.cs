using System.Text.Json.Nodes;

namespace HibpIngest.Testing;

/// <summary>Events as Event Grid posts them (learn.microsoft.com/azure/event-grid/event-schema-blob-storage).</summary>
internal static class EventGridEvents
{
    public static void Fill(HttpRequestMessage request, Uri blob, string container, string name)
    {
        var events = new JsonArray(new JsonObject
        {
            ["id"] = Guid.NewGuid().ToString(),
            ["topic"] = "/subscriptions/0/resourceGroups/test/providers/Microsoft.Storage/storageAccounts/test",
            ["subject"] = $"/blobServices/default/containers/{container}/blobs/{name}",
            ["eventType"] = "Microsoft.Storage.BlobCreated",
            ["eventTime"] = "2026-11-25T00:00:00Z",
            ["dataVersion"] = "",
            ["metadataVersion"] = "1",
            ["data"] = new JsonObject { ["api"] = "PutBlob", ["url"] = blob.AbsoluteUri, ["blobType"] = "BlockBlob" },
        });
        request.Content = new StringContent(events.ToJsonString(), Encoding.UTF8, "application/json");
        request.Headers.Add("aeg-event-type", "Notification");
    }
}
