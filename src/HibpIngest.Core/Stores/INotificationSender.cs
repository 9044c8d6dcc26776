namespace HibpIngest.Stores;

/// <summary>
/// Hands a composed mail on. A mail that is handed on twice carries the same Message-ID, and in a pickup folder
/// replaces its file.
/// </summary>
public interface INotificationSender : IAsyncDisposable
{
    /// <summary>What the operator knows it by (folder, or host and port), without secrets.</summary>
    string DisplayName { get; }

    /// <summary>Finds out whether mails could be sent now, without sending one.</summary>
    /// <param name="from">Envelope sender, an address: whether it is taken, too.</param>
    /// <exception cref="Errors.StoreRefusedException">The set-up must be mended.</exception>
    /// <exception cref="Errors.StoreUnavailableException">Not now.</exception>
    Task CheckAsync(string from, CancellationToken cancellationToken);

    /// <exception cref="Errors.BadInputException">Refused for good (5xx to this recipient or content); the
    /// message holds codes, never an address.</exception>
    /// <exception cref="Errors.StoreRefusedException">The set-up is wrong (permission, login, sender,
    /// certificate): no notification's fault.</exception>
    /// <exception cref="Errors.RecipientDeferredException">Not now, this recipient or content (4xx); others may
    /// be sent.</exception>
    /// <exception cref="Errors.StoreUnavailableException">Not now, none at all: connection, 421, 4xx to the login or
    /// the sender, disk full.</exception>
    Task SendAsync(OutgoingMail mail, CancellationToken cancellationToken);
}

/// <summary>A mail ready to be sent.</summary>
/// <param name="Content">The whole RFC 5322 message, CRLF line ends, 7-bit.</param>
public sealed record OutgoingMail(long NotificationId, string From, string To, ReadOnlyMemory<byte> Content);
