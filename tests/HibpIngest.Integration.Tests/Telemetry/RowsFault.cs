namespace HibpIngest.Integration.Tests.Telemetry;

internal static class RowsFault
{
    /// <summary>Makes the first attempt of every slice fail with a database error.</summary>
    /// <param name="error">SQLite's message.</param>
    public static Task FailFirstAttemptsAsync(string databaseFile, string error) => PipelineRig.ExecuteAsync(
        databaseFile,
        $"""
        CREATE TRIGGER fail_first BEFORE UPDATE ON slices WHEN NEW.state = 'done' AND OLD.attempts = 1
        BEGIN SELECT RAISE(ABORT, '{error}'); END
        """);
}
