using HibpIngest.Cli.Output;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Tests.Cli;

public sealed class JsonLinesTests
{
    private readonly JsonLines _lines = new(new TestClock());

    [Fact]
    public void Log_line_is_an_object_with_its_fields()
    {
        var line = _lines.Line(
            LogLevel.Warning, "StageRunner", new EventId(1204, "LogDeferred"), "slice 3 of \"A\u00e9\" is deferred",
            [
                new("Slice", 3), new("Rows", 10_000L), new("Share", 0.5), new("Wait", TimeSpan.FromSeconds(90)), new("Breach", "A\u00e9"),
                new("Nothing", null), new("{OriginalFormat}", "slice {Slice}")
            ],
            new InvalidOperationException("somebody@example.com"));
        Assert.DoesNotContain('\n', line);
        var json = JsonDocument.Parse(line).RootElement;
        Assert.Equal(
            ["time", "level", "category", "event", "name", "message", "fields", "exception"],
            json.EnumerateObject().Select(property => property.Name));
        Assert.Matches(@"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", json.GetProperty("time").GetString());
        Assert.Equal(
            ("warning", "StageRunner", 1204, "LogDeferred", "slice 3 of \"A\u00e9\" is deferred", "InvalidOperationException"),
            (json.GetProperty("level").GetString(), json.GetProperty("category").GetString(), json.GetProperty("event").GetInt32(),
                json.GetProperty("name").GetString(), json.GetProperty("message").GetString(), json.GetProperty("exception").GetString()));
        Assert.Equal(
            """{"Slice":3,"Rows":10000,"Share":0.5,"Wait":90,"Breach":"Aé","Nothing":null}""", json.GetProperty("fields").GetRawText());
    }

    [Theory]
    [InlineData("ready: drop a zip", "information", "ready: drop a zip")]
    [InlineData("warning: HIBP_STORGE means nothing here", "warning", "HIBP_STORGE means nothing here")]
    public void Console_message_is_a_json_line_with_its_level(string text, string level, string message)
    {
        var json = JsonDocument.Parse(_lines.Message(text)).RootElement;
        Assert.Equal(
            (level, "hibp", message),
            (json.GetProperty("level").GetString(), json.GetProperty("category").GetString(), json.GetProperty("message").GetString()));
    }
}
