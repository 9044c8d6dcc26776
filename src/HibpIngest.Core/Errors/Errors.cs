namespace HibpIngest.Errors;

/// <summary>
/// Base class of the errors shown to an operator. The message says what was expected, what was found and what to do, and never holds an
/// email address.
/// </summary>
public abstract class HibpException(string message, Exception? inner = null) : Exception(message, inner);

/// <summary>
/// The input is invalid (archive, metadata, subscriber file, option): retrying can't help. A pipeline message that causes it records the
/// reason and is acknowledged.
/// </summary>
public class BadInputException(string message, Exception? inner = null) : HibpException(message, inner);

/// <summary>An operator's request that the current state does not allow (requeue after purge, unknown breach or load).</summary>
public sealed class NotPossibleException(string message) : HibpException(message);

/// <summary>
/// A store (database, table, queue, blobs), mail server or name server is down, unreachable or throttling. It costs no attempt: the message
/// is deferred with a growing delay. <paramref name="message"/> names operation, status and code, but no key.
/// </summary>
public class UnavailableException(string message, Exception? inner = null) : HibpException(message, inner)
{
    /// <param name="operation">The failed call, without a key or an address: "listing breaches".</param>
    /// <param name="cause">Equal for all operations that fail for the same reason.</param>
    public UnavailableException(string operation, string cause)
        : this($"{operation} failed: {cause}") => Cause = cause;

    /// <summary>The message without the operation; the whole message if it names none.</summary>
    public string Cause { get; init; } = message;
}

/// <summary>
/// A store asked to slow down for longer than the caller could wait. The store works: completed work counts, and the rest is redelivered
/// without a growing delay.
/// </summary>
public sealed class StoreThrottledException(string message, Exception? inner = null) : UnavailableException(message, inner);

/// <summary>A store has no space left (disk full, size quota). It needs an operator, so a one-off run stops.</summary>
public sealed class StoreFullException(string message, Exception? inner = null) : UnavailableException(message, inner);

/// <summary>A store responded and refused: wrong key, no permission, container or table missing. The configuration must be fixed.</summary>
public class StoreRefusedException(string message, Exception? inner = null) : HibpException(message, inner);

/// <summary>
/// A store responded that the database, table, queue or container does not exist: it was not set up yet, or the configuration names another
/// store.
/// </summary>
public sealed class StoreMissingException(string message, Exception? inner = null) : StoreRefusedException(message, inner);

/// <summary>
/// The database and the account table do not belong together, or one was created by a newer program or with other fixed settings, or the
/// database is not the one that was opened. Nothing done on these stores would be correct: a host stops.
/// </summary>
public sealed class StoreMismatchException(string message) : HibpException(message);

/// <summary>The blob was replaced or deleted while this version of it was being read (If-Match failed): its load is superseded.</summary>
public sealed class BlobSupersededException(string blob)
    : BadInputException($"blob '{blob}' was replaced or deleted while it was being read; the new version makes a load of its own");

/// <summary>
/// The server works, but defers this recipient's mail (4xx to the recipient or to the message): other mails are sent, this one is retried
/// later. The message holds codes, never an address.
/// </summary>
public sealed class RecipientDeferredException(string message) : UnavailableException(message);

/// <summary>
/// The recipient's address does not exist, or takes no mail (5.1.1 and similar): permanently refused. The message holds codes, never an
/// address.
/// </summary>
public sealed class RecipientUnknownException(string message) : BadInputException(message);

public sealed class WrongSettingsException(IReadOnlyList<string> messages) : BadInputException(string.Join("; ", messages))
{
    public IReadOnlyList<string> Messages { get; } = messages;
}
