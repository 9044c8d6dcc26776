using SQLitePCL;

namespace HibpIngest.Benchmarks;

/// <summary>SQLite's native interface, for the ceilings.</summary>
internal static class BareSqlite
{
    public static sqlite3 Open(string file)
    {
        Check(raw.sqlite3_open_v2(file, out var database, raw.SQLITE_OPEN_READWRITE | raw.SQLITE_OPEN_NOMUTEX, null));
        return database;
    }

    public static void Execute(string file, string sql)
    {
        using var database = Open(file);
        Check(raw.sqlite3_exec(database, sql));
    }

    public static void Check(int code)
    {
        if (code != raw.SQLITE_OK)
            throw new InvalidOperationException($"SQLite answered {code}");
    }
}
