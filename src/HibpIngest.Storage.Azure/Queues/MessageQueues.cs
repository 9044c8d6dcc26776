using Azure.Storage.Queues;

namespace HibpIngest.Storage.Azure.Queues;

internal sealed class MessageQueues(QueueServiceClient service, string prefix, TimeProvider clock) : IMessageQueues
{
    public IMessageQueue Get(string name) => new MessageQueue(name, service.GetQueueClient(prefix + name), clock);
}
