using HibpIngest.Hosting.Telemetry;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Tests.Telemetry;

[Collection(ListeningAlone.Name)]
public sealed class ExceptionGuardTests
{
    private const string Address = "somebody@example.com";

    [Fact]
    public async Task Exceptions_are_exported_without_messages_and_other_libraries_log_lines_are_not()
    {
        await using var endpoint = await TelemetryEndpoint.StartAsync();
        using (
            var services = new ServiceCollection()
                .AddHibpTelemetry(
                    new Dictionary<string, string> { [TelemetryExport.ApplicationInsightsVariable] = endpoint.ConnectionString })
                .BuildServiceProvider())
        {
            var logs = services.GetRequiredService<ILoggerFactory>();
            logs.CreateLogger("HibpIngest.Anything").LogError(new EventId(7), Record.Exception(Throw), "load {Load}: something failed", 3);
            logs.CreateLogger("Microsoft.AspNetCore.Server.Kestrel").LogError("a request of {Person} failed", Address);
            logs.CreateLogger("HibpIngest.Anything").LogDebug("not that important");
        }
        var item = Assert.Single(endpoint.Items);
        Assert.Equal(("ExceptionData", "Error", "7", "3"), (item.Kind, item.Severity, item["EventId"], item["Load"]));
        Assert.Equal([(typeof(LoggedException).FullName!, "load 3: something failed", 0)], item.Exceptions);
        Assert.Equal("System.InvalidOperationException", item["exception.type"]);
        Assert.Contains(
            "System.InvalidOperationException < System.FormatException", item["exception.stacktrace"], StringComparison.Ordinal);
        Assert.Contains($"{nameof(ExceptionGuardTests)}.{nameof(Throw)}", item["exception.stacktrace"], StringComparison.Ordinal);
        Assert.Empty(AddressSearch.Find(endpoint.Got.Select(one => one.Body), [Address]));
    }

    private static void Throw() => throw new InvalidOperationException($"{Address} is in here", new FormatException(Address));
}
