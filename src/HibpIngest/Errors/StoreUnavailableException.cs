namespace HibpIngest.Errors;

/// <summary>
/// A store (database, table, queue, blobs, mail server) is down, unreachable or throttling. It costs no try: the message is
/// sent again with a growing delay. <paramref name="message"/> names operation, status and code, and no key.
/// </summary>
public class StoreUnavailableException(string message, Exception? inner = null) : HibpException(message, inner);
