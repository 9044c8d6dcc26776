namespace HibpIngest.Storage.Sql;

/// <summary>Errors that report why the present state does not allow a request.</summary>
internal static class Refusals
{
    public const string NoSuppressionKey = "there are addresses that are not to be told, known by HIBP_SUPPRESSION_KEY, which is not "
        + "set: set it as every host has it";

    public static StoreMismatchException OtherSuppressionKey() =>
        new("HIBP_SUPPRESSION_KEY is another than the one under which the addresses are known that are not to be told: set the one that "
            + "was used before");

    public static NotPossibleException NoBreach(string name) => new($"there is no breach '{name}'");

    public static NotPossibleException BreachOpen(string name, long load) =>
        new($"load {load} of breach '{name}' is still open: wait for its end, then remove the breach");

    public static NotPossibleException NoLoad(long load) => new($"there is no load {load}");

    public static NotPossibleException LoadDone(long load) => new($"load {load} is done: requeue its slices instead");

    public static NotPossibleException LoadOpen(long load) =>
        new($"load {load} is still open: its rows are needed until it is done or failed");

    public static NotPossibleException AssignOpen(long load) =>
        new($"load {load} is still open: wait until it is done, failed or held, then assign it");

    public static NotPossibleException AssignCalling(long load) =>
        new($"clients are being called of load {load}: wait for the end of that, or stop it (hibp hold), then assign it");

    public static NotPossibleException AssignShared(long load, long other) =>
        new($"load {load} shares its mark on the accounts with load {other} (a store of schema 1 had one for all loads of a breach): "
            + "both stay with their breach; to tell them apart, remove the breach and drop both archives again");

    public static NotPossibleException Restarted(long load, long restarted) =>
        new($"load {load} was restarted as load {restarted}, which carries on in its place");

    public static NotPossibleException Superseded(long load) =>
        new($"load {load} read a version of its blob that has been replaced or deleted: what is there now is a load of its own");

    public static NotPossibleException Removing(long load) =>
        new($"load {load} is being removed; run 'hibp breach remove' again to end that");

    public static NotPossibleException UpgradeOpen(string database, long load) =>
        new($"load {load} of database {database} is still open, and what it does half-way belongs to the old schema: "
            + "end it with the version of the program that began it, then upgrade");

    public static NotPossibleException NotLogged(long load) =>
        new($"load {load} is not in the account log: a host writes it, and so does: hibp log write --load {load}");

    public static NotPossibleException Purged(long load, string request) =>
        new($"the rows of load {load} are purged, so it can't be {request}: drop its archive again under another name");

    public static NotPossibleException OtherLoad(long load) =>
        new($"the database has another load {load}, of another version of an archive");

    public static NotPossibleException OtherMark(long load, int known, int told) =>
        new($"load {load} has mark {known} in the database, and mark {told} there");

    public static NotPossibleException MarkTaken(long load, int mark, long other) =>
        new($"mark {mark}, which load {load} has there, is load {other}'s in the database, of another breach");

    public static NotPossibleException VersionTaken(long load, long other) =>
        new($"load {other} of the database has read the same version of the archive as load {load} there");

    public static NotPossibleException NoSlice(long load, int slice) => new($"load {load} has no slice {slice}");
}
