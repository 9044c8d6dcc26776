using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Tests.Functions;

public sealed class FunctionsAppTests
{
    [Theory]
    [InlineData("Logging:LogLevel:Default")]
    [InlineData("Logging:LogLevel:Microsoft")]
    [InlineData("Logging:LogLevel:Microsoft.AspNetCore.Hosting.Diagnostics")]
    [InlineData("Logging:Debug:LogLevel:Default")]
    public void Configuration_cannot_lower_a_frameworks_log_level(string setting)
    {
        var builder = Host.CreateApplicationBuilder();
        builder.Configuration.AddInMemoryCollection([new(setting, "Trace"), new("Logging:LogLevel:HibpIngest.Hosting", "Debug")]);
        _ = new FunctionsApp(builder, _ => throw new BadInputException("no settings"), (_, _) => { }, _ => { });
        using var host = builder.Build();
        var logs = host.Services.GetRequiredService<ILoggerFactory>();
        foreach (var category in (string[])["Microsoft.AspNetCore.Hosting.Diagnostics", "System.Net.Http", "Azure.Core"])
        {
            Assert.False(logs.CreateLogger(category).IsEnabled(LogLevel.Information), category);
            Assert.True(logs.CreateLogger(category).IsEnabled(LogLevel.Warning), category);
        }
        Assert.True(logs.CreateLogger("HibpIngest.Hosting.FunctionsApp").IsEnabled(LogLevel.Debug));
    }
}
