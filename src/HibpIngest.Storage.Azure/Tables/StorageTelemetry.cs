using System.Diagnostics.Metrics;

namespace HibpIngest.Storage.Azure.Tables;

internal static class StorageTelemetry
{
    public static readonly Counter<long> Transactions = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableTransactions, TelemetryNames.Units.Transactions, "Upserts that the table service carried out, "
        + "each of 1 to 100 accounts");

    /// <summary>
    /// "Busy" responses (429, 503), to a request or within a transaction. A rising share of the transactions means that the partition or
    /// the account is at its limit.
    /// </summary>
    public static readonly Counter<long> Throttled = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableThrottled, TelemetryNames.Units.Answers, "Answers of the table service that asked to slow down");

    public static readonly Counter<long> Retries = HibpTelemetry.Meter.CreateCounter<long>(
        TelemetryNames.Instruments.TableRetries, TelemetryNames.Units.Calls, "Requests to the table service that were sent again");
}
