using HibpIngest.Stores;

namespace HibpIngest.Testing;

/// <summary>A single queue where the product takes all of a storage account.</summary>
internal sealed class OneQueue(IMessageQueue queue) : IMessageQueues
{
    public IMessageQueue Get(string name) => queue;
}
