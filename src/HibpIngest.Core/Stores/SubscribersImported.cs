namespace HibpIngest.Stores;

/// <param name="Suppressed">Subscriptions skipped because they are suppressed.</param>
public readonly record struct SubscribersImported(int Added, int Suppressed);
