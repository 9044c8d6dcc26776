using System.Diagnostics.Metrics;

namespace HibpIngest.Storage.Azure.Tables;

internal static class StorageTelemetry
{
    public static readonly Counter<long> Transactions = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableTransactions, TelemetryNames.Units.Transactions, "Upserts that the table service carried out, "
        + "each of 1 to 100 accounts");

    /// <summary>429 and 503, also within a transaction. A rising share means that the partition or account is at its limit.</summary>
    public static readonly Counter<long> Throttled = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableThrottled, TelemetryNames.Units.Answers, "Answers of the table service that asked to slow down");

    public static readonly Counter<long> Retries = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableRetries, TelemetryNames.Units.Calls, "Requests to the table service that were sent again");
}
