namespace HibpIngest.Stores;

/// <summary>The queues of one storage account, by name.</summary>
public interface IMessageQueues
{
    /// <summary>Returns the queue of that name; it need not exist.</summary>
    IMessageQueue Get(string name);
}
