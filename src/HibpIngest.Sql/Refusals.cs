using HibpIngest.Errors;

namespace HibpIngest.Sql;

/// <summary>What an operator is told of a request that the present state does not allow.</summary>
internal static class Refusals
{
    public static NotPossibleException NoBreach(string name) => new($"there is no breach '{name}'");

    public static NotPossibleException BreachOpen(string name, long load) => new($"load {load} of breach '{name}' is still open: wait for its end, then remove the breach");

    public static NotPossibleException NoLoad(long load) => new($"there is no load {load}");

    public static NotPossibleException LoadDone(long load) => new($"load {load} is done: requeue its slices instead");

    public static NotPossibleException LoadOpen(long load) => new($"load {load} is still open: its rows are needed until it is done or failed");

    public static NotPossibleException Restarted(long load, long restarted) => new($"load {load} was restarted as load {restarted}, which carries on in its place");

    public static NotPossibleException Purged(long load, string request) =>
        new($"the rows of load {load} are purged, so it can't be {request}: drop its archive again under another name");

    public static NotPossibleException NoSlice(long load, int slice) => new($"load {load} has no slice {slice}");
}
