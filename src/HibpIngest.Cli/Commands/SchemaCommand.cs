using System.ComponentModel;
using System.Reflection;
using System.Text.Encodings.Web;
using System.Text.Json.Nodes;
using System.Text.Json.Schema;
using HibpIngest.Api.AccessLog.Usage;
using HibpIngest.Journal.Statistics;

namespace HibpIngest.Cli.Commands;

internal sealed class SchemaCommand : HibpCommand
{
    private static readonly JsonSerializerOptions Indented =
        new() { WriteIndented = true, Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    private static readonly JsonSchemaExporterOptions Exporter =
        new() { TreatNullObliviousAsNonNullable = true, TransformSchemaNode = AddDescription };

    // Attributes name the documents of this project; three are types of other projects, or no type of their own.
    private static readonly ILookup<string, Type> Written = typeof(SchemaCommand).Assembly.GetTypes()
        .SelectMany(type => (type.GetCustomAttribute<WrittenByAttribute>()?.Commands ?? []).Select(command => (command, type)))
        .Concat(
        [
            ("access usage", typeof(UsageReport)),
            ("journal stats", typeof(JournalFigures)),
            ("layout list", typeof(LayoutDocument[])),
        ])
        .ToLookup(one => one.Item1, one => one.Item2);

    private readonly Argument<string[]> _command = new("COMMAND")
    {
        Description = "The command, without hibp. Without it, the commands that have a schema are listed.",
        Arity = ArgumentArity.ZeroOrMore,
    };

    public SchemaCommand()
        : base("schema", "Print the JSON schema of the documents that a command writes with --json.")
    {
        Add(_command);
        AddExamples(
            ("hibp schema", "lists the commands that have a schema"),
            ("hibp schema breach list", "prints the schema of: hibp breach list --json"));
    }

    internal static IEnumerable<string> Commands => Written.Select(one => one.Key).Order(StringComparer.Ordinal);

    internal static string SchemaOf(string command)
    {
        var schemas = Written[command].OrderBy(type => type.Name, StringComparer.Ordinal)
            .Select(type => Documents.Options.GetJsonSchemaAsNode(type, Exporter)).ToArray();
        var schema = schemas.Length == 1 ? schemas[0] : new JsonObject { ["anyOf"] = new JsonArray(schemas) };
        return schema.ToJsonString(Indented);
    }

    protected override Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var command = string.Join(' ', session.Parsed.GetValue(_command) ?? []);
        if (command.Length == 0)
            session.Screen.ShowResult(new SchemasDocument([.. Commands]), string.Join('\n', Commands));
        else if (Written.Contains(command))
            session.Screen.Show(SchemaOf(command));
        else
            throw new WrongUsageException($"'{command}' writes no JSON document; 'hibp schema' lists the commands that write one");
        return Task.CompletedTask;
    }

    private static JsonNode AddDescription(JsonSchemaExporterContext context, JsonNode schema)
    {
        var described = (ICustomAttributeProvider?)context.PropertyInfo?.AttributeProvider ?? context.TypeInfo.Type;
        if (schema is JsonObject properties
            && described.GetCustomAttributes(typeof(DescriptionAttribute), inherit: false) is [DescriptionAttribute text])
            properties.Insert(0, "description", text.Description);
        return schema;
    }
}
