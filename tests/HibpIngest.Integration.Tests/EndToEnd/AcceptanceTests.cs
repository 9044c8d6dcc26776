namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>On SQLite.</summary>
public sealed class AcceptanceTests : AcceptanceContract
{
    protected override string Database(string folder) => Path.Combine(folder, "hibp.db");
}
