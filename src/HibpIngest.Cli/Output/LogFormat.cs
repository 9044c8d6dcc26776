namespace HibpIngest.Cli.Output;

/// <summary>What a line of a host's log is.</summary>
internal enum LogFormat
{
    /// <summary>Time, level, category and message.</summary>
    Text,

    /// <summary>A JSON object (jsonlines.org).</summary>
    Json,
}
