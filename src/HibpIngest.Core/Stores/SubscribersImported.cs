namespace HibpIngest.Stores;

/// <summary>What became of an import.</summary>
/// <param name="Suppressed">Subscriptions passed over, because they are suppressed.</param>
public readonly record struct SubscribersImported(int Added, int Suppressed);
