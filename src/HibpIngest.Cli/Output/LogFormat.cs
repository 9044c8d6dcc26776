namespace HibpIngest.Cli.Output;

internal enum LogFormat
{
    /// <summary>Time, level, category and message.</summary>
    Text,

    /// <summary>A JSON object (jsonlines.org).</summary>
    Json,
}
