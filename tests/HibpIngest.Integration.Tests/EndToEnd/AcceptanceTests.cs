namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Runs the acceptance test on SQLite.</summary>
public sealed class AcceptanceTests : AcceptanceContract
{
    protected override string Database(string folder) => Path.Combine(folder, "hibp.db");
}
