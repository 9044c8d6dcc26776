namespace HibpIngest.Stores;

/// <param name="Notifications">Deleted notifications, sent or not.</param>
public readonly record struct SubscribersRemoved(int Subscriptions, int Notifications);
