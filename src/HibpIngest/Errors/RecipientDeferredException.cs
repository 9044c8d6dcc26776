namespace HibpIngest.Errors;

/// <summary>
/// This recipient's mail is not taken now (4xx to the recipient or to the message), while the server itself works:
/// others go on, this one comes again later. The message holds codes, never an address.
/// </summary>
public sealed class RecipientDeferredException(string message) : StoreUnavailableException(message);
