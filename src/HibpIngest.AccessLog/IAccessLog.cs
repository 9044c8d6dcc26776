using HibpIngest.Errors;

namespace HibpIngest.AccessLog;

/// <summary>Takes a record of each request. Safe for use by many at once.</summary>
public interface IAccessLog
{
    /// <summary>Completes when the record is durable: the answer may be sent.</summary>
    /// <exception cref="StoreUnavailableException">
    /// It is not, and the answer must not be sent. Whoever asked is to be told 503, and is in the log as that.
    /// </exception>
    ValueTask AppendAsync(in AccessRecord record);

    /// <summary>
    /// Takes a record that is written behind the answer. Where there is no room for it, because the store is down or far too slow, it
    /// is not logged, and counted as such.
    /// </summary>
    void Add(in AccessRecord record);
}
