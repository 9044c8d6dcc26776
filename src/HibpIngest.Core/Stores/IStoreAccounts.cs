namespace HibpIngest.Stores;

/// <summary>The store's storage accounts, in their order: each says whose it is, and which of how many.</summary>
public interface IStoreAccounts
{
    /// <summary>How many this process knows.</summary>
    int Count { get; }

    /// <summary>What one of them says of itself; null: nothing yet.</summary>
    /// <param name="number">1 and up.</param>
    Task<AccountIdentity?> FindAsync(int number, CancellationToken cancellationToken);

    /// <summary>Records that in it; makes the register there where it is missing.</summary>
    Task PutAsync(AccountIdentity identity, CancellationToken cancellationToken);
}

/// <param name="Store">The id of the store (<see cref="StoreIdentity.Id"/>).</param>
/// <param name="Number">Its number among the store's storage accounts, 1 and up.</param>
/// <param name="Of">How many the store had when it was last set up; it only grows.</param>
public sealed record AccountIdentity(Guid Store, int Number, int Of);
