namespace HibpIngest.Stores;

/// <summary>
/// Ties a database and an account table together, with the settings that can't change once accounts are written. Stored in
/// both, and the program refuses to run if they differ: property names in the table are the database's marks.
/// </summary>
/// <param name="PartitionSpread">Partitions per domain; 1 in this version.</param>
/// <param name="StorageAccounts">Storage accounts of the table; 1 in this version.</param>
public sealed record StoreIdentity(Guid Id, int PartitionSpread, int StorageAccounts);
