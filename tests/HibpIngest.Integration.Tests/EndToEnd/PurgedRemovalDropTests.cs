namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests removals by a scan of the table, because the rows are purged.</summary>
public sealed class PurgedRemovalDropTests(ITestOutputHelper output) : RemovalDropContract(purged: true, output);
