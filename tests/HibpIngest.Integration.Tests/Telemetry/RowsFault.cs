using Microsoft.Data.Sqlite;

namespace HibpIngest.Integration.Tests.Telemetry;

internal static class RowsFault
{
    /// <summary>Hides one row from all readers.</summary>
    public static void Lose(string databaseFile, long load, long position) =>
        Assert.Equal(1, Execute(
            databaseFile, string.Create(CultureInfo.InvariantCulture, $"UPDATE rows SET id = -id WHERE id = {(load << 40) | position}")));

    /// <summary>Restores the hidden row.</summary>
    public static void PutBack(string databaseFile) =>
        Assert.Equal(1, Execute(databaseFile, "UPDATE rows SET id = -id WHERE id < 0"));

    /// <summary>Makes the first attempt of every slice fail with a database error.</summary>
    /// <param name="error">SQLite's message.</param>
    public static void FailFirstAttempts(string databaseFile, string error) => Execute(
        databaseFile,
        $"""
        CREATE TRIGGER fail_first BEFORE UPDATE ON slices WHEN NEW.state = 'done' AND OLD.attempts = 1
        BEGIN SELECT RAISE(ABORT, '{error}'); END
        """);

    private static int Execute(string databaseFile, string sql)
    {
        using var connection = new SqliteConnection($"Data Source={databaseFile};Pooling=False");
        connection.Open();
        using var command = connection.CreateCommand();
        command.CommandText = sql;
        return command.ExecuteNonQuery();
    }
}
