using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>By a walk over the table, as there are no rows any more.</summary>
public sealed class PurgedRemovalDropTests(ITestOutputHelper output) : RemovalDropContract(purged: true, output);
