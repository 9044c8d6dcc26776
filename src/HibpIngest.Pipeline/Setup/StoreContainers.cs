namespace HibpIngest.Pipeline.Setup;

/// <summary>Creates the containers, queues and the register's table, where they are missing.</summary>
public sealed class StoreContainers(
    IBreachBlobs blobs, IJournalBlobs journal, ICallbackBlobs callbacks, IMessageQueues queues, IStoreRegister register,
    ISignIns signIns, IOptions<JournalOptions> options)
{
    public async Task CreateAsync(CancellationToken cancellationToken)
    {
        await blobs.CreateAsync(cancellationToken);
        if (options.Value.Mode == JournalMode.On)
            await journal.CreateAsync(cancellationToken);
        await callbacks.CreateAsync(cancellationToken);
        foreach (var queue in QueueNames.AllWithPoison)
            await queues.Get(queue).CreateAsync(cancellationToken);
        await register.CreateAsync(cancellationToken);
        await signIns.CreateAsync(cancellationToken);
    }
}
