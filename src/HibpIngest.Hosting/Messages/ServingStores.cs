namespace HibpIngest.Hosting.Messages;

/// <summary>
/// Runs work on Pwned Passwords and the access log, which need no database: it first creates their containers, their table and their
/// queues. Thread-safe.
/// </summary>
public sealed class ServingStores(
    IPasswordBlobs passwords, IPasswordDrops drops, IPasswordAppends appends, IAccessBlobs access, IUsageTable usage, IMessageQueues queues)
{
    private readonly RunOnce _setUp = new(async cancellationToken =>
    {
        await passwords.CreateAsync(cancellationToken);
        await drops.CreateAsync(cancellationToken);
        await appends.CreateAsync(cancellationToken);
        await access.CreateAsync(cancellationToken);
        await usage.CreateAsync(cancellationToken);
        foreach (var route in MessageRoutes.All.Where(route => route.Role is HostRoles.Passwords or HostRoles.Access))
        {
            await queues.Get(route.Queue).CreateAsync(cancellationToken);
            await queues.Get(route.Queue + QueueNames.PoisonSuffix).CreateAsync(cancellationToken);
        }
    });

    /// <exception cref="NotPossibleException">The work found a damaged blob. The work fails; a <see cref="StoreMismatchException"/> would
    /// end the host, which has other work.</exception>
    public async Task RunAsync(Func<CancellationToken, Task> work, CancellationToken cancellationToken)
    {
        try
        {
            await _setUp.EnsureAsync(cancellationToken);
            await work(cancellationToken);
        }
        catch (StoreMismatchException e)
        {
            throw new NotPossibleException(e.Message);
        }
    }
}
