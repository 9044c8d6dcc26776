namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests removals by the load's rows.</summary>
public sealed class RemovalDropTests(ITestOutputHelper output) : RemovalDropContract(purged: false, output);
