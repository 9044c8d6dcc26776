namespace HibpIngest.Errors;

/// <summary>
/// The root of the errors that an operator is shown. The message says what was expected, what was found and what to do,
/// and never holds an email address.
/// </summary>
public abstract class HibpException(string message, Exception? inner = null) : Exception(message, inner);
