using System.Reflection;
using HibpIngest.Api.AccessLog;
using HibpIngest.Api.Lookup;
using HibpIngest.Api.Settings;
using HibpIngest.Cli.Output;
using HibpIngest.Delivery;
using HibpIngest.Functions;
using HibpIngest.Functions.Api;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Passwords.Serving;
using HibpIngest.Storage.Sql.SqlServer;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Tests.Telemetry;

public sealed class EventIdTests
{
    [Fact]
    public void Event_ids_are_unique_and_listed_in_EventIds()
    {
        Type[] ofAllAssemblies =
            [typeof(IngestBreach), typeof(SmtpSender), typeof(SqlServerBreachDatabase), typeof(StorageAccount), typeof(TelemetryExport),
                typeof(Screen), typeof(HealthFunction), typeof(WebFunction), typeof(BreachedAccounts), typeof(PasswordRanges)];
        var ids = ofAllAssemblies
            .SelectMany(type => type.Assembly.GetTypes())
            .SelectMany(
                type => type.GetMethods(
                    BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly))
            .Select(method => method.GetCustomAttribute<LoggerMessageAttribute>()?.EventId).OfType<int>().ToList();
        var written = typeof(EventIds).GetFields().Select(field => (int)field.GetRawConstantValue()!).ToList();
        Assert.Contains(TelemetryNames.Logs.LoadSeen, ids);
        Assert.Equal(ids.Distinct().Order(), ids.Order());
        Assert.Equal(written.Order(), ids.Order());
    }
}
