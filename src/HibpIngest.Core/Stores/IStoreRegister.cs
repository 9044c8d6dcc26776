namespace HibpIngest.Stores;

/// <summary>
/// The small facts that must be had without waking the database, in table <c>hibpstore</c>: the store's
/// identity, which loads are open, which blob versions have been taken on, whether the catalogue may be behind, how
/// accounts lie in the tables, which hosts there are, who is not to be told.
/// </summary>
public interface IStoreRegister : IStoreIds, IOpenLoads, IReceipts, ICatalogueMarks, ILayoutRegister, IHostSigns,
    ISuppressionLog;
