namespace HibpIngest.Stores;

/// <summary>
/// Says that a database and an account table belong together, with the settings that can't change once accounts
/// are written. Kept in both; they must be equal, or the program refuses: property names in the table are the
/// database's marks.
/// </summary>
/// <param name="PartitionSpread">Partitions a domain is spread over; 1 in this version.</param>
/// <param name="StorageAccounts">Storage accounts the table is spread over; 1 in this version.</param>
public sealed record StoreIdentity(Guid Id, int PartitionSpread, int StorageAccounts);
