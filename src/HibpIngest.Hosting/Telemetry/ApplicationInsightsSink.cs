using System.Globalization;
using Azure.Core;
using HibpIngest.Errors;
using Microsoft.ApplicationInsights;
using Microsoft.ApplicationInsights.Channel;
using Microsoft.ApplicationInsights.DataContracts;
using Microsoft.ApplicationInsights.Extensibility;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// The way to Application Insights: its client with its channel in memory, and nothing of its collectors. The
/// other channel keeps what could not be sent in /var/tmp, and then sends old before new, or nothing at the end
/// of a short process. Nothing is sampled: a load is some thousands of items, and each slice that fails has to
/// be among them.
/// </summary>
internal sealed class ApplicationInsightsSink : IDisposable
{
    /// <summary>What is still to be sent at the end gets so long.</summary>
    private static readonly TimeSpan FlushTimeout = TimeSpan.FromSeconds(5);

    private readonly InMemoryChannel _channel;
    private readonly TelemetryConfiguration _configuration;
    private readonly TelemetryClient _client;

    private ApplicationInsightsSink(InMemoryChannel channel, TelemetryConfiguration configuration, string role)
    {
        _channel = channel;
        _configuration = configuration;
        _client = new TelemetryClient(configuration);
        _client.Context.Cloud.RoleName = role;
    }

    /// <param name="connection">Names the resource.</param>
    /// <param name="credential">Signs in; null: the connection's key does.</param>
    /// <param name="role">Name of this program there.</param>
    /// <exception cref="BadInputException">It is not a connection string.</exception>
    public static ApplicationInsightsSink Open(string connection, TokenCredential? credential, string role)
    {
        var channel = new InMemoryChannel();
        var configuration = new TelemetryConfiguration { TelemetryChannel = channel };
        try
        {
            configuration.ConnectionString = connection;
            if (credential is not null)
                configuration.SetAzureTokenCredential(credential);
            return new ApplicationInsightsSink(channel, configuration, role);
        }
        catch (ArgumentException e)
        {
            configuration.Dispose();
            channel.Dispose();
            throw new BadInputException(
                $"{TelemetryExport.ApplicationInsightsVariable} is expected to be the connection string of an Application Insights "
                + "resource (InstrumentationKey=...;IngestionEndpoint=https://...), as the portal shows it; found something else", e);
        }
    }

    public void Send(ITelemetry item) => _client.Track(item);

    /// <summary>Adds a tag, or a log line's value, to an item.</summary>
    public static void Describe(ISupportProperties item, string name, object? value)
    {
        if (value is not null)
            item.Properties[name] = Convert.ToString(value, CultureInfo.InvariantCulture);
    }

    /// <summary>Sends what is left.</summary>
    public void Dispose()
    {
        _channel.Flush(FlushTimeout);
        _configuration.Dispose();
        _channel.Dispose();
    }
}
