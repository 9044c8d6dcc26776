namespace HibpIngest.Stores;

/// <param name="Notifications">Notifications of them, sent or not.</param>
public readonly record struct SubscribersRemoved(int Subscriptions, int Notifications);
