namespace HibpIngest.Cli.Output;

internal enum LogFormat
{
    /// <summary>Time, level, category and message.</summary>
    Text,

    /// <summary>One JSON object a line (jsonlines.org).</summary>
    Json,
}
