namespace HibpIngest.Stores;

/// <param name="Suppressed">Subscriptions passed over, because they are suppressed.</param>
public readonly record struct SubscribersImported(int Added, int Suppressed);
