using HibpIngest.Pipeline;

namespace HibpIngest.Hosting.Local;

/// <summary>The queues that each role of a host takes messages from. Roles without a queue (sweep, web) are not listed.</summary>
public static class RoleQueues
{
    private static readonly IReadOnlyList<(HostRoles Role, IReadOnlyList<string> Queues)> All =
    [
        (HostRoles.Ingest, [QueueNames.Ingest]),
        (HostRoles.Upsert, [QueueNames.Slices]),
        (HostRoles.Notify, [QueueNames.Match, QueueNames.Mail]),
        (HostRoles.Log, [QueueNames.Log]),
        (HostRoles.Call, [QueueNames.Calls, QueueNames.Callbacks]),
        (HostRoles.Passwords, QueueNames.Passwords),
        (HostRoles.Access, QueueNames.Access),
    ];

    /// <summary>Returns the queues of a role.</summary>
    public static IReadOnlyList<string> Of(HostRoles role) => All.Single(one => one.Role == role).Queues;

    /// <summary>Returns the role that takes messages from a queue, as <see cref="Stores.HostSign.Roles"/> names it.</summary>
    /// <returns>null: it is none of the pipeline's queues.</returns>
    public static string? NameOfRole(string queue) =>
        All.Where(one => one.Queues.Contains(queue)).Select(one => one.Role.ToString().ToLowerInvariant()).FirstOrDefault();
}
