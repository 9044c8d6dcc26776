using System.Text.Json;

namespace HibpIngest.Testing;

/// <summary>What the handler answered, judged as the host judges it.</summary>
internal sealed record HostAnswer(int Status, string? ContentType, string Body)
{
    /// <summary>The invocation has succeeded: the message is deleted.</summary>
    public bool Succeeded => Status == 200 && ContentType == "application/json" && IsObject;

    /// <summary>The host would wait for this one until it kills the handler.</summary>
    public bool Hangs =>
        Status is >= 200 and < 300 && !(ContentType == "application/json" && IsObject) && (Body.Length == 0 || Body == "null");

    private bool IsObject
    {
        get
        {
            try
            {
                using var json = JsonDocument.Parse(Body);
                return json.RootElement.ValueKind == JsonValueKind.Object;
            }
            catch (JsonException)
            {
                return false;
            }
        }
    }

    /// <summary>Asserts that it is what an invocation has to get whose work is done.</summary>
    public void AssertDone() =>
        Assert.Equal((200, "application/json", """{"Outputs":{},"Logs":[],"ReturnValue":null}"""), (Status, ContentType, Body));

    /// <summary>Asserts that it is a failure with one line without an address, and returns that line.</summary>
    public string AssertFailed()
    {
        Assert.True(
            Status == 500 && Body.Length > 0 && !Body.Contains('\n', StringComparison.Ordinal)
            && !Body.Contains('@', StringComparison.Ordinal), ToString());
        return Body;
    }
}
