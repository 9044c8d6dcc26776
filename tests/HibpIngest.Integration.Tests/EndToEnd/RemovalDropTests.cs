using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>By the rows of the load.</summary>
public sealed class RemovalDropTests(ITestOutputHelper output) : RemovalDropContract(purged: false, output);
