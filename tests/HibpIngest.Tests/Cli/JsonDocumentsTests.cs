using System.Reflection;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Schema;
using System.Text.Json.Serialization;
using System.Text.RegularExpressions;
using System.Xml.Linq;
using HibpIngest.Cli.Output;
using Shown = HibpIngest.Cli.Output.Documents;

namespace HibpIngest.Tests.Cli;

/// <summary>Tests the output of --json against docs/json.md, which lists its schemas; HIBP_GOLDEN=write rewrites that page.</summary>
public sealed partial class JsonDocumentsTests
{
    private const string Page = "docs/json.md";
    private const string Begin = "<!-- schemas: HIBP_GOLDEN=write dotnet test tests/HibpIngest.Tests writes what follows -->";

    private static readonly JsonSerializerOptions Indented =
        new() { WriteIndented = true, Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    [Fact]
    public void The_page_tells_the_schema_of_every_document()
    {
        var path = Path.Combine(DocumentFiles.Root, Page);
        var page = DocumentFiles.Read(Page).ReplaceLineEndings("\n");
        var expected = page[..(page.IndexOf(Begin, StringComparison.Ordinal) + Begin.Length)] + "\n" + Schemas();
        if (Environment.GetEnvironmentVariable("HIBP_GOLDEN") == "write")
            File.WriteAllText(path, expected);
        Assert.Equal(expected, DocumentFiles.Read(Page).ReplaceLineEndings("\n"));
    }

    [Fact]
    public void A_failure_is_one_document_and_none_where_there_is_one()
    {
        var text = new StringWriter();
        var screen = new Screen(json: true, Screen.Create(text), Screen.Create(TextWriter.Null));
        screen.ShowError("it is down", 1);
        screen.ShowError("and so is that", 1);
        using var document = JsonDocument.Parse(text.ToString());
        Assert.Equal(
            """{"error":{"message":"it is down","exitCode":1}}""", JsonSerializer.Serialize(document.RootElement));
    }

    [Fact]
    public void A_load_that_took_no_time_has_figures_that_are_numbers()
    {
        var load = new HibpIngest.Breaches.Load
        {
            Id = 1,
            Breach = "Adobe",
            Blob = new HibpIngest.Breaches.BlobVersion("Adobe.zip", "1"),
            State = HibpIngest.Breaches.LoadState.Ingesting,
            Settings = HibpIngest.Pipeline.Ingest.LoadStart.NewSettings(new HibpIngest.Pipeline.Settings.IngestOptions()),
            Checkpoint = new HibpIngest.Breaches.LoadCheckpoint(),
            StartedAt = DateTimeOffset.UnixEpoch,
            LastPosition = 5,
        };
        var document = Shown.Of(
            new StatusPicture([load], [], [], [], []), DateTimeOffset.UnixEpoch, mailsPerSecond: 10);
        Assert.Contains(
            "\"rowsPerSecond\":0", JsonSerializer.Serialize(document, Shown.Default.StatusDocument), StringComparison.Ordinal);
    }

    private static string Schemas()
    {
        var summaries = Summaries();
        var text = new StringWriter { NewLine = "\n" };
        foreach (var type in typeof(Shown).GetCustomAttributesData()
            .Where(attribute => attribute.AttributeType == typeof(JsonSerializableAttribute))
            .Select(attribute => (Type)attribute.ConstructorArguments[0].Value!).OrderBy(Name, StringComparer.Ordinal))
        {
            var element = type.GetElementType() ?? type;
            text.WriteLine();
            text.WriteLine($"## {Name(type)}");
            text.WriteLine();
            if (summaries.TryGetValue(element.FullName!, out var summary))
            {
                text.WriteLine(Wrap().Replace(summary, "${line}\n").TrimEnd());
                text.WriteLine();
            }
            var schema = Shown.Default.GetTypeInfo(type)!.GetJsonSchemaAsNode(
                new JsonSchemaExporterOptions { TreatNullObliviousAsNonNullable = true });
            text.WriteLine("```json");
            var json = schema.ToJsonString(Indented).ReplaceLineEndings("\n");
            text.WriteLine(Short().Replace(json, match => Spaces().Replace(match.Value, " ")));
            text.WriteLine("```");
        }
        return text.ToString();
    }

    private static string Name(Type type) => type.GetElementType() is { } element ? $"{element.Name}, an array" : type.Name;

    /// <summary>Returns each type's summary in the code: the names of its commands.</summary>
    private static Dictionary<string, string> Summaries() => XDocument
        .Load(Path.ChangeExtension(typeof(Shown).Assembly.Location, ".xml")).Descendants("member")
        .Where(member => member.Attribute("name")!.Value.StartsWith("T:", StringComparison.Ordinal)
            && member.Element("summary") is not null)
        .ToDictionary(
            member => member.Attribute("name")!.Value[2..],
            member => Spaces().Replace(member.Element("summary")!.Value.Trim(), " "));

    /// <summary>An object or array without nested ones, such as a simple property: one line.</summary>
    [GeneratedRegex(@"[\[{][^\[\]{}]{0,90}[\]}]", RegexOptions.None, 10_000)]
    private static partial Regex Short();

    /// <summary>The longest line of prose.</summary>
    [GeneratedRegex(@"(?<line>.{1,105})(\s+|$)", RegexOptions.ExplicitCapture, 10_000)]
    private static partial Regex Wrap();

    [GeneratedRegex(@"\s+", RegexOptions.None, 10_000)]
    private static partial Regex Spaces();
}
