namespace HibpIngest.Stores;

/// <summary>
/// State that must be readable without waking the database, in table <c>hibpstore</c>: the store's identity, open loads, receipts of blob
/// versions, marks of a stale catalogue, layouts, heartbeats, suppressions, opt-outs.
/// </summary>
public interface IStoreRegister :
    IStoreIds, IStoreMarks, ILayoutRegister, IHeartbeats, ISuppressionLog, IOptOuts;
