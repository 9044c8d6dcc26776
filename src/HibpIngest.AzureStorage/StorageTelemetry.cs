using System.Diagnostics.Metrics;
using HibpIngest.Telemetry;

namespace HibpIngest.AzureStorage;

internal static class StorageTelemetry
{
    /// <summary>Writes to the account table that the service carried out.</summary>
    public static readonly Counter<long> Transactions = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableTransactions, TelemetryNames.Units.Transactions, "Upserts that the table service carried out, "
        + "each of 1 to 100 accounts");

    /// <summary>
    /// Answers that said "busy" (429, 503), as a whole or within a transaction. A rising share of the
    /// transactions: the partition or the account is at its limit.
    /// </summary>
    public static readonly Counter<long> Throttled = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableThrottled, TelemetryNames.Units.Answers, "Answers of the table service that asked to slow down");

    /// <summary>Requests sent again, whatever the reason.</summary>
    public static readonly Counter<long> Retries = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableRetries, TelemetryNames.Units.Calls, "Requests to the table service that were sent again");
}
