using System.Globalization;
using Microsoft.Data.Sqlite;

namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>A SQLite database that has lost a row, by which a slice fails in itself.</summary>
internal static class RowsFault
{
    /// <summary>Puts one row out of everybody's sight.</summary>
    public static void Lose(string databaseFile, long load, long position) =>
        Change(databaseFile, string.Create(CultureInfo.InvariantCulture, $"UPDATE rows SET id = -id WHERE id = {(load << 40) | position}"));

    /// <summary>Puts it back.</summary>
    public static void PutBack(string databaseFile) => Change(databaseFile, "UPDATE rows SET id = -id WHERE id < 0");

    private static void Change(string databaseFile, string sql)
    {
        using var connection = new SqliteConnection($"Data Source={databaseFile};Pooling=False");
        connection.Open();
        using var command = connection.CreateCommand();
        command.CommandText = sql;
        Assert.Equal(1, command.ExecuteNonQuery());
    }
}
