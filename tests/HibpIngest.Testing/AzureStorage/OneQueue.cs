namespace HibpIngest.Testing;

/// <summary>Serves a single queue as all queues of a storage account.</summary>
internal sealed class OneQueue(IMessageQueue queue) : IMessageQueues
{
    public IMessageQueue Get(string name) => queue;
}
