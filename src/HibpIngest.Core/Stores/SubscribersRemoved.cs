namespace HibpIngest.Stores;

/// <summary>What was taken away.</summary>
/// <param name="Notifications">Notifications of them, sent or not.</param>
public readonly record struct SubscribersRemoved(int Subscriptions, int Notifications);
