namespace HibpIngest.Api.AccessLog;

/// <summary>Takes a record of each request. Thread-safe.</summary>
public interface IAccessLog
{
    /// <summary>Completes when the record is durable; the response may be sent then.</summary>
    /// <exception cref="StoreUnavailableException">
    /// The record isn't durable. The caller must answer 503, which the log records too.
    /// </exception>
    ValueTask AppendAsync(in AccessRecord record);

    /// <summary>
    /// Takes a record to be written after the response. Without room (the store is down or far too slow) it is dropped and counted.
    /// </summary>
    void Add(in AccessRecord record);
}
