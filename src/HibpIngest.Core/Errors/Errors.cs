namespace HibpIngest.Errors;

/// <summary>
/// The root of the errors that an operator is shown. The message says what was expected, what was found and what to do,
/// and never holds an email address.
/// </summary>
public abstract class HibpException(string message, Exception? inner = null) : Exception(message, inner);

/// <summary>
/// What was handed in is wrong (archive, metadata, subscriber file, option): trying again can't help. A pipeline message that
/// meets it records the reason and is acknowledged.
/// </summary>
public class BadInputException(string message, Exception? inner = null) : HibpException(message, inner);

/// <summary>An operator's request that the present state does not allow (requeue after purge, unknown breach or load).</summary>
public sealed class NotPossibleException(string message) : HibpException(message);

/// <summary>
/// A store (database, table, queue, blobs, mail server) is down, unreachable or throttling. It costs no try: the message is
/// sent again with a growing delay. <paramref name="message"/> names operation, status and code, and no key.
/// </summary>
public class StoreUnavailableException(string message, Exception? inner = null) : HibpException(message, inner);

/// <summary>
/// A store asked to slow down for longer than could be waited. It works: what got done counts, and
/// the rest is sent again without a growing delay.
/// </summary>
public sealed class StoreThrottledException(string message, Exception? inner = null) : StoreUnavailableException(message, inner);

/// <summary>
/// A store has no room left (disk full, size quota). It passes only when somebody makes room, so a one-off run
/// stops on it.
/// </summary>
public sealed class StoreFullException(string message, Exception? inner = null) : StoreUnavailableException(message, inner);

/// <summary>
/// A store answered and refused: wrong key, no permission, container or table missing. The set-up must be
/// mended.
/// </summary>
public class StoreRefusedException(string message, Exception? inner = null) : HibpException(message, inner);

/// <summary>
/// A store answered that what was asked of is not there: the database, a table, a queue, the container. Nobody
/// has set it up yet, or another store is meant.
/// </summary>
public sealed class StoreMissingException(string message, Exception? inner = null) : StoreRefusedException(message, inner);

/// <summary>
/// Database and account table do not belong together, or one was made by a newer program or with other fixed
/// settings, or the database is another than the one that was opened. Nothing that is done on these stores
/// would be right: a host stops.
/// </summary>
public sealed class StoreMismatchException(string message) : HibpException(message);

/// <summary>Another ingester owns the load by now: nothing of the batch in hand was written; stop, it carries on.</summary>
public sealed class LoadLostException(long load) : HibpException($"load {load} is owned by another ingester by now");

/// <summary>
/// The blob was replaced or deleted while this version of it was being read (If-Match failed): its load is
/// superseded.
/// </summary>
public sealed class BlobSupersededException(string blob)
    : BadInputException($"blob '{blob}' was replaced or deleted while it was being read; the new version makes a load of its own");

/// <summary>
/// This recipient's mail is not taken now (4xx to the recipient or to the message), while the server itself works:
/// others go on, this one comes again later. The message holds codes, never an address.
/// </summary>
public sealed class RecipientDeferredException(string message) : StoreUnavailableException(message);
