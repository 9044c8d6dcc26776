namespace HibpIngest.Stores;

/// <summary>
/// Delivers composed mails. A mail that is delivered twice carries the same Message-ID, and replaces its file in a pickup folder.
/// </summary>
public interface INotificationSender : IAsyncDisposable
{
    /// <summary>Folder, or host and port, without secrets.</summary>
    string DisplayName { get; }

    /// <summary>Checks whether mails could be sent now, without sending one.</summary>
    /// <param name="from">Envelope sender, an address: also checked.</param>
    /// <exception cref="Errors.StoreRefusedException">The configuration must be fixed.</exception>
    /// <exception cref="Errors.UnavailableException">Temporarily impossible.</exception>
    Task CheckAsync(string from, CancellationToken cancellationToken);

    /// <exception cref="Errors.BadInputException">Permanently refused (5xx to this recipient or content); the message holds codes, never an
    /// address.</exception>
    /// <exception cref="Errors.RecipientUnknownException">Permanently refused, because the address does not exist.</exception>
    /// <exception cref="Errors.StoreRefusedException">The configuration is wrong (permission, login, sender, certificate), for any
    /// notification.</exception>
    /// <exception cref="Errors.RecipientDeferredException">This recipient or content is temporarily refused (4xx); other mails may be
    /// sent.</exception>
    /// <exception cref="Errors.UnavailableException">No mail can be sent for now: connection, 421, 4xx to the login or the sender,
    /// disk full.</exception>
    Task SendAsync(OutgoingMail mail, CancellationToken cancellationToken);
}

/// <param name="Name">Number of the notification, or id of the command, that causes the mail; names its file in a pickup folder.</param>
/// <param name="Content">The whole RFC 5322 message, CRLF line ends, 7-bit.</param>
public sealed record OutgoingMail(string Name, string From, string To, ReadOnlyMemory<byte> Content);
