using System.Diagnostics.Metrics;
using HibpIngest.Telemetry;

namespace HibpIngest.AzureStorage;

/// <summary>How Table Storage is doing.</summary>
internal static class StorageTelemetry
{
    /// <summary>Writes to the account table that the service carried out.</summary>
    public static readonly Counter<long> Transactions = HibpTelemetry.Meter.CreateCounter<long>("hibp.table.transactions", "{transaction}", "Upserts that the table service carried out, each of 1 to 100 accounts");

    /// <summary>Answers that said "busy" (429, 503), as a whole or within a transaction. A rising share of the transactions: the partition or the account is at its limit.</summary>
    public static readonly Counter<long> Throttled = HibpTelemetry.Meter.CreateCounter<long>("hibp.table.throttled", "{answer}", "Answers of the table service that asked to slow down");
}
