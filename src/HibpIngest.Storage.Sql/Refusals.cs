namespace HibpIngest.Storage.Sql;

internal static class Refusals
{
    public const string NoSuppressionKey = "HIBP_SUPPRESSION_KEY is not set, but the database holds suppressed addresses: "
        + "set the key that the other hosts use";

    public static StoreMismatchException OtherSuppressionKey() =>
        new("HIBP_SUPPRESSION_KEY is not the key under which the database's addresses are suppressed: set that key");

    public static NotPossibleException NoBreach(string name) => new($"there is no breach '{name}'");

    public static NotPossibleException BreachOpen(string name, LoadId load) =>
        new($"load {load} of breach '{name}' is still open: wait until it has ended, then remove the breach");

    public static NotPossibleException NoLoad(LoadId load) => new($"there is no load {load}");

    public static NotPossibleException LoadDone(LoadId load) => new($"load {load} is done: requeue its slices instead");

    public static NotPossibleException LoadOpen(LoadId load) =>
        new($"load {load} is still open: its rows are needed until it is done or failed");

    public static NotPossibleException AssignOpen(LoadId load) =>
        new($"load {load} is still open: wait until it is done, failed or held, then assign it");

    public static NotPossibleException AssignCalling(LoadId load) =>
        new($"clients are being called for load {load}: wait until the calls have ended, or stop them (hibp mail hold), then assign it");

    public static NotPossibleException AssignShared(LoadId load, LoadId other) =>
        new($"load {load} shares its mark on the accounts with load {other}, because schema 1 had one mark for all loads of a breach: "
            + "neither can be assigned to another breach; to separate them, remove the breach and drop both archives again");

    public static NotPossibleException Restarted(LoadId load, LoadId restarted) =>
        new($"load {load} was restarted as load {restarted}: use that load");

    public static NotPossibleException Superseded(LoadId load) =>
        new($"load {load} read a version of its blob that has been replaced or deleted: the current version is another load");

    public static NotPossibleException Removing(LoadId load) =>
        new($"load {load} is being removed: run 'hibp breach remove' again to complete the removal");

    public static NotPossibleException UpgradeOpen(string database, LoadId load) =>
        new($"load {load} of database {database} is still open, and can be completed only under the old schema: "
            + "complete it with the program version that started it, then upgrade");

    public static NotPossibleException NotJournaled(LoadId load) =>
        new($"load {load} is not in the journal: wait until a host has written it, or run 'hibp journal write --load {load}'");

    public static NotPossibleException Purged(LoadId load, string request) =>
        new($"load {load} can't be {request}, because its rows are purged: drop its archive again under the same name "
            + "(hibp drop FILE --again)");

    public static NotPossibleException OtherLoad(LoadId load) =>
        new($"the database has another load {load}: its archive version, generation or start is not that of the journal");

    public static NotPossibleException OtherMark(LoadId load, int known, int logged) =>
        new($"load {load} has mark {known} in the database, but mark {logged} in the journal");

    public static NotPossibleException MarkTaken(LoadId load, int mark, LoadId other) =>
        new($"load {load} has mark {mark} in the journal, but in the database load {other} of another breach has that mark");

    public static NotPossibleException VersionTaken(LoadId load, LoadId other) =>
        new($"load {load} in the journal is of the same archive version as load {other} in the database");

    public static NotPossibleException NoSlice(LoadId load, int slice) => new($"load {load} has no slice {slice}");
}
